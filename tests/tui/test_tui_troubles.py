# SPDX-License-Identifier: Apache-2.0
"""What goes wrong shows as a message that says what to do, never as a traceback or a frozen screen."""

from __future__ import annotations

import pytest
from desk import GONE, Desk
from driving import ask, drive, notices, screen_text, start, type_text, wait_for
from textual import events
from textual.pilot import Pilot

from maxconsole.errors import DoesNotFit, UserError
from maxconsole.firmware.diagnostics import CompileError, Diagnostic
from maxconsole.tui.app import ConsoleApp, TooSmall
from maxconsole.tui.job import Outcome
from maxconsole.tui.state import State
from maxconsole.tui.widgets.prompt import PROMPT_MAX, Prompt
from maxconsole.tui.widgets.transcript import Transcript


def test_a_board_that_dies_in_mid_answer_is_reported_and_released() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        session = desk.sessions[0]
        session.gate.clear()
        await type_text(pilot, "go")
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.control.answering)
        session.failure = GONE
        await wait_for(pilot, lambda: not app.control.answering)
        assert app.control.state is State.FAILED
        text = screen_text(app)
        assert "the emulator has ended" in text
        assert "start the board again" in text
        session.failure = None
        await start(app, pilot)
        await ask(app, pilot, "again")

    drive(desk, steps)
    assert [session.closed for session in desk.sessions] == [1, 1]


def test_a_board_that_dies_while_nobody_asks_is_reported() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        desk.sessions[0].failure = GONE
        await wait_for(pilot, lambda: app.control.session is None)
        assert "the emulator has ended" in notices(app)

    drive(desk, steps)


def test_a_refusal_does_not_cost_the_board() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        session = desk.sessions[0]
        session.gate.clear()
        await type_text(pilot, "go")
        await pilot.press("enter")
        session.failure = UserError("the prompt has 40000 tokens; the firmware takes 32768 at once")
        await wait_for(pilot, lambda: not app.control.answering)
        session.failure = None
        assert app.control.session is session
        assert "40000 tokens" in screen_text(app)
        session.gate.set()
        await ask(app, pilot, "shorter")

    drive(desk, steps)


def test_a_compiler_error_is_shown_with_its_place_and_its_source_line() -> None:
    error = CompileError(
        "the firmware does not compile",
        (Diagnostic("firmware/engine/main.c", 3, 5, "error", "expected ';' before 'return'"),),
        "",
    )

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5")
        job = app.control.starting
        assert job is not None
        await wait_for(pilot, lambda: job.view().outcome is Outcome.FAILED)
        await pilot.pause(0.2)
        text = screen_text(app)
        assert "the firmware does not compile: 1 error" in text
        assert "firmware/engine/main.c:3:5" in text
        assert "expected ';' before 'return'" in text
        assert "    3 │" in text
        await pilot.press("escape")
        assert app.screen is app.main

    drive(Desk(failure=error), steps)


def test_a_model_that_does_not_fit_says_what_would() -> None:
    error = DoesNotFit("llama model with context 8192 does not fit: 612.4 MiB too much", hint="--context 512 would fit")

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5")
        await wait_for(pilot, lambda: "--context 512 would fit" in screen_text(app))

    drive(Desk(failure=error), steps)


def test_a_model_that_does_not_fit_cannot_be_picked() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f3")
        await wait_for(pilot, lambda: "made-up-1.5B" in screen_text(app))
        await pilot.press("down", "enter")
        assert app.screen is not app.main
        assert "rpi5-virtual holds it" in notices(app)

    app = drive(Desk(), steps)
    assert app.control.choice.model is None


def test_a_board_that_somebody_has_cannot_be_picked() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f2")
        await wait_for(pilot, lambda: "A board of numbers" in screen_text(app))
        await pilot.press("down", "enter")
        assert "in use by process 7" in notices(app)

    app = drive(Desk(), steps)
    assert app.control.choice.board == "synthetic"


def test_a_mistake_of_our_own_is_shown_and_not_thrown() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5")
        await wait_for(pilot, lambda: "mistake in maxconsole itself" in screen_text(app))

    drive(Desk(failure=ZeroDivisionError("division by zero")), steps)


def test_starting_can_be_stopped() -> None:
    desk = Desk()
    desk.gate.clear()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5")
        await wait_for(pilot, lambda: "attention.S" in screen_text(app))
        await pilot.press("escape")
        await wait_for(pilot, lambda: "stopped. Nothing was left behind." in screen_text(app))
        await pilot.press("escape")
        assert app.screen is app.main

    drive(desk, steps)
    assert desk.sessions == []


def test_a_terminal_that_shrinks_in_mid_answer_comes_back_unharmed() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        desk.sessions[0].gate.clear()
        await type_text(pilot, "go")
        await pilot.press("enter")
        await pilot.resize_terminal(20, 5)
        await pilot.pause(0.2)
        assert isinstance(app.screen, TooSmall)
        assert "terminal too small" in screen_text(app)
        desk.sessions[0].gate.set()
        await wait_for(pilot, lambda: not app.control.answering)
        for size in ((80, 24), (200, 60), (120, 36)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.2)
            assert app.screen is app.main
            assert "the first four stay." in screen_text(app)

    drive(desk, steps)


def test_a_terminal_that_shrinks_during_a_job_comes_back_to_it() -> None:
    desk = Desk()
    desk.gate.clear()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5")
        await wait_for(pilot, lambda: "attention.S" in screen_text(app))
        await pilot.resize_terminal(20, 5)
        await pilot.pause(0.2)
        desk.gate.set()
        await wait_for(pilot, lambda: app.control.session is not None)
        await pilot.resize_terminal(100, 30)
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(desk, steps)


def test_a_paste_of_a_megabyte_is_refused_with_its_size() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        prompt = app.main.query_one(Prompt)
        prompt.post_message(events.Paste("x" * 1_000_000))
        await wait_for(pilot, lambda: "1000 k characters are too much" in notices(app))
        assert prompt.text == ""
        prompt.post_message(events.Paste("y" * PROMPT_MAX))
        await wait_for(pilot, lambda: len(prompt.text) == PROMPT_MAX)
        await pilot.press("z")
        assert len(prompt.text) == PROMPT_MAX

    drive(Desk(), steps)


def test_control_bytes_that_are_pasted_or_said_do_not_reach_the_terminal() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        app.main.query_one(Prompt).post_message(events.Paste("a\x1b[31mb\r\nc"))
        await wait_for(pilot, lambda: app.main.query_one(Prompt).text == "a\\x1b[31mb\nc")
        app.control.chat.ask("[bold]no markup[/bold] \x07 \u202e")
        app.main.query_one(Transcript).update_chat()
        await pilot.pause()
        assert "[bold]no markup[/bold] \\x07 \\u202e" in screen_text(app)
        assert "odd bytes \\x1b[31m in a line" in screen_text(app)

    drive(Desk(), steps, size=(160, 48))


def test_leaving_in_mid_answer_closes_the_board() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        desk.sessions[0].gate.clear()
        await type_text(pilot, "go")
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.control.answering)
        await pilot.press("ctrl+c")

    drive(desk, steps)
    assert desk.sessions[0].closed == 1


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
def test_leaving_while_a_board_starts_leaves_no_board(key: str) -> None:
    desk = Desk()
    desk.gate.clear()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5")
        await wait_for(pilot, lambda: "attention.S" in screen_text(app))
        await pilot.press(key)
        assert app._exit

    drive(desk, steps)
    assert desk.sessions == []


@pytest.mark.parametrize("opening", ["f1", "f2", "f3", "f4", "ctrl+p", "f6"])
@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
def test_every_screen_can_be_left(opening: str, key: str) -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press(opening)
        await pilot.pause()
        if key == "ctrl+c" and opening == "f4":
            await pilot.press("end")  # a selected text would be copied instead
        await pilot.press(key)
        assert app._exit

    drive(Desk(), steps)


def test_control_c_copies_what_is_selected_and_stays() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await type_text(pilot, "some words")
        app.main.query_one(Prompt).select_all()
        await pilot.press("ctrl+c")
        assert app.clipboard == "some words"
        assert not app._exit

    drive(Desk(), steps)


def test_text_that_comes_in_one_burst_is_sent_whole() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        for key, char in [*((char, char) for char in "burst"), ("enter", "\r")]:
            app.post_message(events.Key(key, char))
        await wait_for(pilot, lambda: desk.sessions[0].asked == ["burst"])

    drive(desk, steps)


def test_keys_that_come_before_the_first_screen_do_no_harm() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f2", "f2", "escape", "f1", "f1", "f3", "escape", "f4", "escape")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(Desk(), steps)


@pytest.mark.parametrize("opened", [False, True], ids=["with the picker", "into the picker"])
def test_a_path_that_is_typed_without_waiting_for_the_picker_is_that_path(opened: bool) -> None:
    path = "/no/such.gguf"
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        keys = [events.Key(_KEYS.get(char, char), char) for char in path] + [events.Key("enter", "\r")]
        if opened:
            await pilot.press("f3")
        else:
            keys.insert(0, events.Key("f3", None))
        for key in keys:
            app.post_message(key)
        await wait_for(pilot, lambda: path in notices(app))
        await pilot.pause(0.2)
        assert notices(app).count(path) == 1

    app = drive(desk, steps)
    assert app.control.choice.model is None


_KEYS = {"/": "slash", ".": "full_stop"}
