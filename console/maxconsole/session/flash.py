# SPDX-License-Identifier: Apache-2.0
"""Puts an image into a board and starts it, by the method that the board's profile names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maxconsole.boards import Board
from maxconsole.errors import UserError
from maxconsole.session.machine import Machine
from maxconsole.session.progress import Progress


@dataclass(frozen=True, slots=True)
class Load:
    """What to put into a board: an ELF file, and more (physical address, bytes) on top of it, weights for example.

    `fast` leaves out the timing of a virtual board.
    """

    board: Board
    elf: Path
    extra: Sequence[tuple[int, memoryview]] = ()
    fast: bool = False


def flash(load: Load, progress: Progress) -> Machine:
    """The board, just started on what was loaded. Raises UserError, ToolMissing, BoardError."""
    raise UserError(f"{load.board.name} is flashed by {load.board.flash.method}, which is not supported yet")
