# SPDX-License-Identifier: Apache-2.0
"""Every verb on the command line. Modules that take long to import are imported by the verbs that need them."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """The program `maxconsole`. Ends the process with an exit code: see maxconsole.errors, 130 after Ctrl-C."""
    from maxconsole.cli.app import app  # noqa: PLC0415  (a signal that comes while importing ends the process)

    signal.signal(signal.SIGTERM, _terminate)
    app(prog_name="maxconsole")
    sys.exit(0)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Lets `finally` blocks run, which end boards and remove their files."""
    del frame
    sys.exit(128 + number)
