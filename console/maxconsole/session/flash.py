# SPDX-License-Identifier: Apache-2.0
"""Puts an image into a board and starts it, by the method that the board's profile names."""

from __future__ import annotations

from maxconsole.errors import UserError
from maxconsole.session.emulated import EmulatedMachine
from maxconsole.session.machine import Load, Machine
from maxconsole.session.progress import Progress


def flash(load: Load, progress: Progress) -> Machine:
    """The board, just started on what was loaded. Raises UserError, ToolMissing, BoardError."""
    method = load.board.flash.method
    if method != "shared-memory":
        raise UserError(
            f"{load.board.name} is flashed by {method}, which this version cannot do",
            hint="choose a virtual board: `maxconsole boards` lists them",
        )
    return EmulatedMachine(load, progress)
