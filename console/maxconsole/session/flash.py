# SPDX-License-Identifier: Apache-2.0
"""Puts an image into a board and starts it, by the method that the board's profile names."""

from __future__ import annotations

from maxconsole.boards import Board
from maxconsole.errors import UserError
from maxconsole.session.emulated import EmulatedMachine
from maxconsole.session.machine import Load, Machine
from maxconsole.session.progress import Progress


def check_method(board: Board) -> None:
    """Raises UserError for a board that `flash` cannot do: better known before anything is built."""
    if board.flash.method != "shared-memory":
        raise UserError(
            f"{board.name} is flashed by {board.flash.method}, which this version cannot do",
            hint="choose a virtual board: `maxconsole boards` lists them",
        )


def flash(load: Load, progress: Progress) -> Machine:
    """The board, just started on what was loaded. Raises UserError, ToolMissing, BoardError."""
    check_method(load.board)
    return EmulatedMachine(load, progress)
