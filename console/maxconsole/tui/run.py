# SPDX-License-Identifier: Apache-2.0
"""From the command line to the first screen and back."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from maxconsole.errors import UserError
from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.lazy import LazyWorkbench
from maxconsole.tui.seam import Choice


def run_console(choice: Choice) -> int:
    """See maxconsole.tui.run."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UserError(
            "the console needs a terminal for input, output and errors",
            hint="without one, use the verbs: `maxconsole ask`, `maxconsole --help`",
        )
    workbench = LazyWorkbench(choice)
    app = ConsoleApp(workbench, once_shown=workbench.warm_up)
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
