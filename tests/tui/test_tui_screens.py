# SPDX-License-Identifier: Apache-2.0
"""Every screen as a picture, at three sizes and in monochrome; compare with `pytest --snapshot-report=FILE`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pytest
from desk import Desk, DeskSession
from driving import console, screen_text, start, wait_for
from recorded import LONG, SHORT, WITH_NPU, WITHOUT_NPU, replayed, snapshots
from synthetic import SyntheticBoard
from textual.pilot import Pilot
from textual.widgets import Input

from maxconsole.errors import BoardError, DoesNotFit
from maxconsole.firmware.diagnostics import CompileError, Diagnostic
from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.job import JobView, Outcome, Stage
from maxconsole.tui.panes.caches import CachePane
from maxconsole.tui.screens.job import JobScreen
from maxconsole.tui.themes import DARK, MONOCHROME

SIZES = {"80x24": (80, 24), "120x36": (120, 36), "160x48": (160, 48)}
LOOKS = [*((name, DARK) for name in SIZES), ("80x24", MONOCHROME)]

Steps = Callable[[ConsoleApp, Pilot[None]], Awaitable[None]]


class Compare(Protocol):
    """What the fixture of pytest-textual-snapshot offers."""

    def __call__(
        self,
        app: ConsoleApp,
        press: Sequence[str] = (),
        terminal_size: tuple[int, int] = (80, 24),
        run_before: Callable[[Pilot[None]], Awaitable[None]] | None = None,
    ) -> bool: ...


@dataclass
class FrozenJob:
    """Stands in for a Job at one moment."""

    frozen: JobView

    def view(self) -> JobView:
        return self.frozen

    def stop(self) -> None:
        """Nothing runs."""


STAGES = (Stage("pack", 97, 97, "", 0.0, 0.4), Stage("build", 12, 41, "firmware/kernels/attention.S", 0.4))
EXPECTED = ("pack", "build", "flash", "boot")
TITLE = "made-up-135M on synthetic"
BROKEN = CompileError(
    "the firmware does not compile",
    (
        Diagnostic("firmware/engine/main.c", 3, 12, "error", "expected ';' before 'return'"),
        Diagnostic("firmware/kernels/nowhere.S", 32, 0, "error", "operand 1 must be a SIMD vector register"),
        Diagnostic("firmware/engine/main.c", 5, 1, "warning", "unused variable 'tokens' [-Wunused-variable]"),
    ),
    "",
)
TOO_BIG = DoesNotFit(
    "llama model with context 8192 does not fit aimax395-virtual: it takes 560.0 MiB (WEIGHT 94.0 MiB, ACTIVATION "
    "6.0 MiB, KV_CACHE 460.0 MiB), free are 184.0 MiB + 192.0 MiB: 184.0 MiB too much",
    hint="--context 4096 would fit; with context 8192 it fits rpi5-virtual",
)


async def at_start(_app: ConsoleApp, _pilot: Pilot[None]) -> None:
    """The first screen."""


async def ready(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await start(app, pilot)


def played(name: str, until_s: float | None = None, *keys: str) -> Steps:
    """A shipped recording at a moment, or at its end."""

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.control.adopt(replayed(name, until_s))
        await wait_for(pilot, lambda: bool(app.control.chat.turns))
        await pilot.press(*keys)
        await pilot.pause(0.3)
        pane = app.main.query_one(CachePane)
        pane.clear()
        for one in snapshots(name, until_s):  # every step, as if the screen had looked in time for each
            pane.show(one)

    return steps


async def editing(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await ready(app, pilot)
    chat = app.control.chat
    for question in ("what does a kv cache keep?", "and once it is full?"):
        chat.ask(question).add("Keys and values of every token that the model has seen: none is computed twice.")
        chat.turns[-1].close("18 tokens in 12.0 s, 1.47 tok/s here, 118 tok/s on the board")
    await pilot.press("ctrl+r")


async def failed(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await ready(app, pilot)
    app.control.chat.ask("what does a kv cache keep?").add("A key-value cache keeps what")
    app.control.chat.turns[-1].close("the answer ended here: the board failed")
    app.control._lose(BoardError("the emulator has ended (signal 9)", hint="start the board again with F5"))
    app.control.notices()


async def with_log(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await ready(app, pilot)
    await pilot.press("f6", "4")


async def cores(app: ConsoleApp, pilot: Pilot[None]) -> None:
    """A made-up board of four cores."""
    await ready(app, pilot)
    session = app.control.session
    assert isinstance(session, DeskSession)
    session.board = SyntheticBoard(cores=4)
    for _ in session.board.ask(8, 1):
        pass
    await pilot.press("f6", "5", *["plus"] * 6, "down")


async def memory(app: ConsoleApp, pilot: Pilot[None]) -> None:
    """The same with counters for the memory."""
    await ready(app, pilot)
    session = app.control.session
    assert isinstance(session, DeskSession)
    session.board = SyntheticBoard(cores=4, counters=(0x03, 0x17, 0x2A, 0x60, 0x61, 0x13))
    pane = app.main.query_one(CachePane)
    await pilot.press("f6", "2")
    for _ in session.board.ask(8, 24):
        pane.show(session.snapshot())
    await pilot.pause(0.3)


async def boards(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await pilot.press("f2")
    await wait_for(pilot, lambda: "A board of numbers" in screen_text(app))
    await pilot.press("down")


async def models(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await pilot.press("f3")
    await wait_for(pilot, lambda: "made-up-1.5B" in screen_text(app))


async def settings(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await pilot.press("f4")
    await pilot.pause()
    for one in app.screen.query(Input):
        one.cursor_blink = False


async def help_of_kernels(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await pilot.press("f6", "f1")


async def palette(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await pilot.press("ctrl+p")
    await pilot.pause(0.5)
    app.screen.query_one(Input).cursor_blink = False


async def kernel_list(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await ready(app, pilot)
    await pilot.press("f6", "6")
    await wait_for(pilot, lambda: "tile_8" in screen_text(app))


async def code(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await kernel_list(app, pilot)
    await pilot.press("enter")
    await pilot.pause(0.3)


async def hot_code_with_source(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await code(app, pilot)
    await pilot.press("h", "s", "pagedown")
    await pilot.pause(0.3)


def job(outcome: Outcome, error: Exception | None = None) -> Steps:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        frozen = FrozenJob(JobView(TITLE, outcome, STAGES, error, 8.7, EXPECTED))
        app.push_screen(JobScreen(frozen))  # type: ignore[arg-type]
        await pilot.pause(0.3)

    return steps


SCREENS: dict[str, Steps] = {
    "start": at_start,
    "ready": ready,
    "answering": played(SHORT, 9.0),
    "answered": played(LONG),
    "kernels": played(LONG, None, "f6", "s"),
    "caches": played(LONG, None, "f6", "2", "p"),
    "ring": played(LONG, None, "f6", "3"),
    "ring-before-it-wraps": played(LONG, 60.0, "f6", "3"),
    "log": with_log,
    "timeline": played(LONG, None, "f6", "5"),
    "timeline-closer": played(LONG, None, "f6", "5", "p", *["plus"] * 6, *["shift+right"] * 2),
    "timeline-of-cores": cores,
    "timeline-without-npu": played(WITHOUT_NPU, None, "f6", "5", "p", *["plus"] * 5, *["shift+right"] * 2),
    "timeline-with-npu": played(WITH_NPU, None, "f6", "5", "p", *["plus"] * 5, *["shift+right"] * 2, *["down"] * 4),
    "kernels-with-npu": played(WITH_NPU, None, "f6", "p"),
    "memory": memory,
    "zoomed": played(LONG, None, "f6", "f7"),
    "editing": editing,
    "failed": failed,
    "boards": boards,
    "models": models,
    "settings": settings,
    "help": help_of_kernels,
    "palette": palette,
    "code-list": kernel_list,
    "code": code,
    "code-hot": hot_code_with_source,
    "job": job(Outcome.RUNNING),
    "job-stopped": job(Outcome.STOPPED),
    "job-compile-error": job(Outcome.FAILED, BROKEN),
    "job-does-not-fit": job(Outcome.FAILED, TOO_BIG),
}


@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=lambda value: value.removeprefix("maxconsole-"))
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_looks_as_it_did(snap_compare: Compare, name: str, size: str, theme: str) -> None:
    desk = Desk()
    app = console(desk, theme=theme)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.pause()
        await SCREENS[name](app, pilot)
        await pilot.pause(0.3)

    assert snap_compare(app, terminal_size=SIZES[size], run_before=steps)
    app.control.close()


def test_a_terminal_of_20_by_5_says_what_it_needs(snap_compare: Compare) -> None:
    assert snap_compare(console(Desk()), terminal_size=(20, 5))
