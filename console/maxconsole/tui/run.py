# SPDX-License-Identifier: Apache-2.0
"""From the command line to the first screen and back."""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path
from types import FrameType

from maxconsole.errors import UserError
from maxconsole.tui import has_terminal
from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.lazy import LazyWorkbench
from maxconsole.tui.seam import Choice, Generating
from maxconsole.tui.tour import live_tour, recorded_tour


def run_console(choice: Choice) -> int:
    """See maxconsole.tui.run."""
    check_terminal()
    workbench = LazyWorkbench(choice)

    def once_shown() -> None:
        gc.enable()
        workbench.warm_up()

    return _run(ConsoleApp(workbench, once_shown=once_shown))


def run_replay(path: Path, choice: Choice, *, speed: float, paused: bool) -> int:
    """See maxconsole.tui.replay."""
    check_terminal()
    workbench = LazyWorkbench(choice)
    app = ConsoleApp(workbench)
    _adopt(app, workbench, path, speed=speed, paused=paused)
    return _run(app)


def run_tour(
    choice: Choice, questions: tuple[str, str], recording: Path | None, *, max_tokens: int, speed: float
) -> int:
    """See maxconsole.tui.tour."""
    check_terminal()
    workbench = LazyWorkbench(choice)
    app = ConsoleApp(workbench, tour=live_tour(questions) if recording is None else recorded_tour())
    app.control.generating = Generating(temperature=0.0, top_k=1, repeat_penalty=1.0, max_new=max_tokens)
    if recording is not None:
        _adopt(app, workbench, recording, speed=speed, paused=False)
    return _run(app)


def _adopt(app: ConsoleApp, workbench: LazyWorkbench, path: Path, *, speed: float, paused: bool) -> None:
    app.control.adopt(workbench.replay(str(path)))
    player = app.control.player
    if player is not None:
        player.set_speed(speed)
        player.pause(paused)


def check_terminal() -> None:
    """Raises UserError where there is none to draw on and to type at."""
    if not has_terminal():
        raise UserError(
            "the console needs a terminal for input, output and errors",
            hint="without one, use the verbs: `maxconsole ask`, `maxconsole --help`",
        )


def _run(app: ConsoleApp) -> int:
    try:
        app.run()
    finally:
        _close(app)
    return app.return_code or 0


def _close(app: ConsoleApp) -> None:
    """Releases the board. The screen is gone by now; a second Ctrl-C does not cut this short."""

    def ignore(_number: int, _frame: FrameType | None) -> None:
        print("releasing the board, a moment ...", file=sys.stderr)

    before = {number: signal.signal(number, ignore) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        app.control.close()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
