# SPDX-License-Identifier: Apache-2.0
"""Whole flows by keys: pick, start, ask, stop, ask again, edit, quit."""

from __future__ import annotations

from itertools import product
from typing import get_args

from desk import WORDS, Desk
from driving import ask, drive, notices, screen_text, start, type_text, wait_for
from textual.pilot import Pilot
from textual.widgets import Input

from maxconsole.boards import DEFAULT_BOARD
from maxconsole.session.route import NpuMode, Route
from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.chat import Speaker
from maxconsole.tui.figures.choices import Counters, Order, PhaseChoice
from maxconsole.tui.lazy import LazyWorkbench
from maxconsole.tui.panes.caches import CachePane
from maxconsole.tui.panes.kernels import KernelPane
from maxconsole.tui.panes.log import LogPane
from maxconsole.tui.screens.settings import SettingsDialog
from maxconsole.tui.seam import Choice, Generating
from maxconsole.tui.widgets.prompt import Prompt

ANSWER = " ".join(WORDS)


def test_from_picking_a_board_to_a_second_answer() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f2")
        await wait_for(pilot, lambda: "A board of numbers" in screen_text(app))
        await pilot.press("enter")
        await pilot.press("f3")
        await wait_for(pilot, lambda: "made-up-135M" in screen_text(app))
        await pilot.press("enter")
        await start(app, pilot)
        assert "The board is ready" in screen_text(app)
        await ask(app, pilot, "what is a kv cache?")
        await ask(app, pilot, "and then?")

    app = drive(desk, steps)
    assert desk.sessions[0].asked == ["what is a kv cache?", "and then?"]
    turns = app.control.chat.turns
    assert [turn.speaker for turn in turns] == [Speaker.USER, Speaker.MODEL] * 2
    assert turns[1].text.strip() == ANSWER
    assert "49.9 tok/s on the board" in turns[1].note
    assert desk.sessions[0].closed == 1


def test_enter_on_an_empty_console_starts_the_board() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.control.session is not None)

    drive(Desk(), steps)


def test_stopping_keeps_what_was_said_and_the_next_question_is_answered() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        session = desk.sessions[0]
        await type_text(pilot, "go")
        session.gate.clear()
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.control.answering)
        await pilot.press("escape")
        await wait_for(pilot, lambda: not app.control.answering)
        assert app.control.chat.turns[1].note.endswith("stopped")
        session.gate.set()
        await ask(app, pilot, "again")

    app = drive(desk, steps)
    assert app.control.chat.turns[3].text.strip() == ANSWER


def test_enter_while_an_answer_runs_keeps_the_text() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        desk.sessions[0].gate.clear()
        await type_text(pilot, "one")
        await pilot.press("enter")
        await type_text(pilot, "two")
        await pilot.press("enter")
        assert app.main.query_one(Prompt).text == "two"
        assert "Esc stops" in notices(app)
        desk.sessions[0].gate.set()
        await wait_for(pilot, lambda: not app.control.answering)

    drive(desk, steps)


def test_a_question_is_edited_and_sent_again() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await ask(app, pilot, "first")
        await ask(app, pilot, "second")
        prompt = app.main.query_one(Prompt)
        await pilot.press("ctrl+r")
        assert prompt.text == "second"
        await pilot.press("ctrl+r")
        assert prompt.text == "first"
        await ask(app, pilot, " of all")

    app = drive(desk, steps)
    assert desk.sessions[0].asked[-1] == "first of all"
    assert desk.sessions[0].kept == [0]
    assert len(app.control.chat.turns) == 2


def test_a_new_chat_forgets_the_conversation_and_keeps_the_history_of_prompts() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await ask(app, pilot, "something")
        await pilot.press("ctrl+n")
        assert app.control.chat.turns == []
        await pilot.press("up")
        assert app.main.query_one(Prompt).text == "something"
        await pilot.press("down")
        assert app.main.query_one(Prompt).text == ""

    drive(desk, steps)
    assert desk.sessions[0].kept == [0]


def test_a_prompt_has_several_lines() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await type_text(pilot, "one")
        await pilot.press("ctrl+j")
        await ask(app, pilot, "two")

    drive(desk, steps)
    assert desk.sessions[0].asked == ["one\ntwo"]


def test_panes_are_reached_sorted_and_zoomed_by_keys() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await ask(app, pilot, "go")
        kernels, caches = app.main.query_one(KernelPane), app.main.query_one(CachePane)
        await pilot.press("f6")
        assert kernels.has_focus
        await pilot.press("s", "p", "p")
        assert (kernels.order, kernels.phase) == (Order.EXECUTION, PhaseChoice.DECODE)
        await pilot.press("2", "p")
        assert caches.has_focus
        assert caches.phase is PhaseChoice.PREFILL
        await pilot.press("f7")
        assert caches.size.width == app.size.width
        assert not kernels.display
        await pilot.press("f7", "4")
        assert app.main.query_one(LogPane).view.has_focus
        await pilot.press("escape")
        assert app.main.query_one(Prompt).has_focus

    drive(Desk(), steps)


def test_settings_are_checked_before_they_are_taken() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f4")
        await pilot.pause()
        app.screen.query_one("#context").value = "12"  # type: ignore[attr-defined]
        app.screen.query_one("#temperature").value = "warm"  # type: ignore[attr-defined]
        await pilot.press("enter")
        await pilot.pause()
        assert "'warm' is not a number" in screen_text(app)
        app.screen.query_one("#temperature").value = "0"  # type: ignore[attr-defined]
        await pilot.press("enter")
        await pilot.pause()
        assert "a context of 12 tokens is not possible" in screen_text(app)
        app.screen.query_one("#context").value = "128"  # type: ignore[attr-defined]
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen is app.main

    app = drive(Desk(), steps)
    assert app.control.generating.temperature == 0
    assert app.control.choice.context == 128


def test_what_the_counters_count_is_chosen_while_the_board_runs() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        session = desk.sessions[0]
        session.gate.clear()
        await type_text(pilot, "go")
        await pilot.press("enter", "f4")
        await pilot.pause()
        app.screen.query_one("#counters").focus()
        await pilot.press("space")
        await pilot.pause()
        assert "refills of all levels" in screen_text(app)
        await pilot.press("ctrl+s")
        await pilot.pause(0.3)
        assert session.counted == []  # not during the answer
        session.gate.set()
        await wait_for(pilot, lambda: session.counted == [Counters.MEMORY])
        await start(app, pilot)
        await wait_for(pilot, lambda: len(desk.sessions) == 2)

    app = drive(desk, steps)
    assert desk.sessions[1].choice.counters is Counters.MEMORY
    assert desk.sessions[1].counted == []  # the workbench has told it
    assert app.control.choice.counters is Counters.MEMORY


def test_the_palette_runs_an_action_by_its_name() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await ask(app, pilot, "go")
        await pilot.press("ctrl+p")
        await pilot.pause()
        await type_text(pilot, "kernels sort")
        await pilot.pause(0.5)
        await pilot.press("enter", "enter")
        await wait_for(pilot, lambda: app.main.query_one(KernelPane).order is Order.EXECUTION)

    drive(Desk(), steps)


def test_the_board_compares_its_memory_with_what_was_flashed() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        app.main.do_board_verify()
        await wait_for(pilot, lambda: "weights 97 MB" in notices(app))

    drive(Desk(), steps)


def test_starting_again_releases_the_board_first() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await start(app, pilot)
        await wait_for(pilot, lambda: len(desk.sessions) == 2)
        assert [session.closed for session in desk.sessions] == [1, 0]

    drive(desk, steps)
    assert [session.closed for session in desk.sessions] == [1, 1]


def test_a_recording_is_started_and_ended_with_one_key() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await pilot.press("f8")
        await wait_for(pilot, lambda: "● REC" in screen_text(app))
        await pilot.press("f8")
        await wait_for(pilot, lambda: "maxconsole replay made-up.mcap" in notices(app))
        assert "● REC" not in screen_text(app)

    drive(desk, steps)


def test_the_route_of_prompts_changes_without_a_new_start() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await pilot.press("f4")
        await pilot.pause()
        field = app.screen.query_one("#int8_tokens", Input)
        field.value = "0"
        app.screen.query_one("#npu").focus()
        await pilot.press("space", "ctrl+s")
        await wait_for(pilot, lambda: desk.sessions[0].routes == [Route(0, "linear")])
        assert app.screen is app.main
        await ask(app, pilot, "still there?")

    drive(desk, steps)
    assert len(desk.sessions) == 1


def test_settings_show_every_route_that_there_is() -> None:
    """Also one with rounding where nothing is rounded."""
    for mode, f16 in product(get_args(NpuMode), (False, True)):
        dialog = SettingsDialog(
            Generating(), Choice(route=Route(npu=mode, npu_f16=f16)), lambda choice, generating: None
        )

        async def steps(app: ConsoleApp, pilot: Pilot[None], dialog: SettingsDialog = dialog, mode: str = mode) -> None:
            app.push_screen(dialog)
            await pilot.pause()
            assert f"◂ {mode}" in screen_text(app)

        drive(Desk(), steps)


def test_without_a_board_of_one_s_own_the_cursor_begins_on_the_default_one() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f2")
        await wait_for(pilot, lambda: "▸ " in screen_text(app))
        assert f"▸ {DEFAULT_BOARD} " in screen_text(app)
        assert "  aimax395  " in screen_text(app)  # the list is not scrolled where all of it has room
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(LazyWorkbench(Choice("", None, 128, 64)), steps)
