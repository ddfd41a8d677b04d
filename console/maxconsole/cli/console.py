# SPDX-License-Identifier: Apache-2.0
"""From the command line into the console on the terminal."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from maxconsole import tui


def run_console(board: str = "", port: str | None = None, baud: int | None = None) -> int:
    """The console with no board yet; its exit code. F5 attaches to `port` if one is given.

    Raises UserError without a terminal.
    """
    choice = _choice()
    return tui.run(replace(choice, board=board or choice.board, port=port, baud=baud))


def replay_in_console(path: Path, speed: float) -> int:
    """The console with a recording; its exit code. Raises UserError without a terminal, and for no recording."""
    return tui.replay(path, _choice(), speed=speed)


def _choice() -> tui.Choice:
    """What F5 starts: the environment's board and model, as for the verbs."""
    return tui.Choice(os.environ.get("MAXCONSOLE_BOARD", ""), os.environ.get("MAXCONSOLE_MODEL") or None)
