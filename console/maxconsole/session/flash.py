# SPDX-License-Identifier: Apache-2.0
"""Puts firmware and weights into a board, by the method that its profile names."""

from __future__ import annotations

from maxconsole.errors import UserError
from maxconsole.session.machine import Machine
from maxconsole.session.progress import Progress
from maxconsole.session.setup import Prepared


def flash(prepared: Prepared, progress: Progress) -> Machine:
    """A board that has just started on the prepared firmware. Raises UserError, ToolMissing, BoardError."""
    raise UserError(f"{prepared.board.name} is flashed by {prepared.board.flash.method}, which is not supported yet")
