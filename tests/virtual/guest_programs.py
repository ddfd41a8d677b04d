# SPDX-License-Identifier: Apache-2.0
"""The bare-metal test programs of tests/virtual/guest."""

from __future__ import annotations

from pathlib import Path

from maxconsole.boards import Board
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.validation.guest import compile_guest

FOLDER = Path(__file__).parent / "guest"


def compile_loops(board: Board, output: Path) -> FirmwareElf:
    """loops.S and measure.c."""
    return compile_guest(board, output, [FOLDER / name for name in ("loops.S", "measure.c")])
