# SPDX-License-Identifier: Apache-2.0
"""From the command line to the first screen and back."""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path
from types import FrameType

from maxconsole.errors import UserError
from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.lazy import LazyWorkbench
from maxconsole.tui.seam import Choice


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
    app.control.adopt(workbench.replay(str(path)))
    player = app.control.player
    if player is not None:
        player.set_speed(speed)
        player.pause(paused)
    return _run(app)


def check_terminal() -> None:
    """Raises UserError where there is none to draw on and to type at."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
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
