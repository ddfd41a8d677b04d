# SPDX-License-Identifier: Apache-2.0
"""The board picker: what there is, and whether it can be used now."""

from __future__ import annotations

from collections.abc import Sequence

from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import binary, si
from maxconsole.tui.screens.picker import Facts, Picker
from maxconsole.tui.seam import BoardCard, Workbench


class BoardPicker(Picker[str, BoardCard]):
    """Gives the name of the board that the user takes."""

    TITLE_TEXT = "Choose a board"
    WAITING = "reading board profiles …"
    TAKE = "take it"
    FAILED = "no boards"
    HEAD = line(Span(f"  {'board':<20}{'kind':<10}{'cores':>5}{'clock':>9}{'RAM':>10}   state", Ink.DIM))

    def __init__(self, workbench: Workbench, current: str) -> None:
        super().__init__()
        self._workbench = workbench
        self._current = current

    def read(self) -> Sequence[BoardCard]:
        cards = self._workbench.boards()  # first: a workbench that loads when it is asked knows its default then
        self._current = self._current or self._workbench.default.board
        return cards

    def is_chosen(self, card: BoardCard) -> bool:
        return card.name == self._current

    def entry(self, card: BoardCard) -> Line:
        clock = f"{si(card.clock_hz)}Hz" if card.clock_hz else "unknown"
        text = f"{card.name:<20}{card.kind:<10}{card.cores:>5}{clock:>9}{binary(card.ram_bytes):>10}   "
        if card.obstacle:
            return line(text, Span("▲ not now", Ink.WARN))
        return line(text, Span("● chosen" if self.is_chosen(card) else "● free", Ink.GOOD))

    def facts(self, card: BoardCard) -> Facts:
        obstacle = (("not usable", card.obstacle),) if card.obstacle else ()
        return card.title, (*obstacle, *card.details)

    def take(self, card: BoardCard) -> None:
        if card.obstacle:
            self.notify(card.obstacle, title=f"{card.name} cannot be used now", severity="warning", markup=False)
        else:
            self.dismiss(card.name)
