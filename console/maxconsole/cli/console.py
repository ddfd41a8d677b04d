# SPDX-License-Identifier: Apache-2.0
"""From the command line into the console on the terminal."""

from __future__ import annotations

import os
from pathlib import Path

from maxconsole import tui
from maxconsole.boards import DEFAULT_BOARD


def run_console() -> int:
    """The console with no board yet; its exit code."""
    return tui.run(_choice())


def replay_in_console(path: Path, speed: float) -> int:
    """The console with a recording; its exit code. Raises UserError without a terminal, and for no recording."""
    return tui.replay(path, _choice(), speed=speed)


def _choice() -> tui.Choice:
    """What F5 starts: the environment's board and model, as for the verbs."""
    board = os.environ.get("MAXCONSOLE_BOARD") or DEFAULT_BOARD
    return tui.Choice(board, os.environ.get("MAXCONSOLE_MODEL") or None)
