# SPDX-License-Identifier: Apache-2.0
"""Every verb on the command line. Modules that take long to import are imported by the verbs that need them."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """The program `maxconsole`. Ends the process with an exit code: see maxconsole.errors, 130 after Ctrl-C."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        if len(sys.argv) == 1:
            _open_console()
        from maxconsole.cli.app import app  # noqa: PLC0415  (Ctrl-C while importing is no traceback)

        app(prog_name="maxconsole")
    except KeyboardInterrupt:
        from maxconsole.cli.shell import EXIT_INTERRUPTED  # noqa: PLC0415

        sys.exit(EXIT_INTERRUPTED)
    sys.exit(0)


def _open_console() -> None:
    """The console, where there is a terminal: without the parser, which takes a fifth of its start."""
    from maxconsole import tui  # noqa: PLC0415

    if tui.has_terminal():
        from maxconsole.cli.console import run_console  # noqa: PLC0415

        sys.exit(run_console())


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Lets `finally` blocks run, which end boards and remove their files."""
    del frame
    sys.exit(128 + number)
