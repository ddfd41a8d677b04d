# SPDX-License-Identifier: Apache-2.0
"""The board picker: what there is, and whether it can be used now."""

from __future__ import annotations

from collections.abc import Sequence

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical

from maxconsole.errors import UserError
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import binary, si
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.seam import BoardCard, Workbench
from maxconsole.tui.widgets.details import Details
from maxconsole.tui.widgets.menu import Menu
from maxconsole.tui.widgets.rule import Rule


class BoardPicker(Dialog[str]):
    """Gives the name of the board that the user takes."""

    def __init__(self, workbench: Workbench, current: str) -> None:
        super().__init__()
        self._workbench = workbench
        self._current = current
        self._cards: Sequence[BoardCard] = ()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rule("", "Choose a board")
            yield Menu("reading board profiles …")
            yield Details()
            yield DialogKeys(("↑↓", "move"), ("Enter", "take it"), ("Esc", "back"))

    def on_mount(self) -> None:
        self.query_one(Rule).say(lit=True)
        self.query_one(Menu).show(_HEAD, ())
        self.query_one(Menu).focus()
        self._read()

    @work(thread=True)
    def _read(self) -> None:
        try:
            cards = self._workbench.boards()
        except UserError as error:
            self.app.call_from_thread(self.notify, str(error), title="no boards", severity="error", markup=False)
            return
        self.app.call_from_thread(self._show, cards)

    def _show(self, cards: Sequence[BoardCard]) -> None:
        self._cards = cards
        current = self._current or self._workbench.default.board
        names = [card.name for card in cards]
        cursor = names.index(current) if current in names else 0
        self.query_one(Menu).show(_HEAD, [_entry(card, card.name == current) for card in cards], cursor)
        self._tell(cursor)

    def on_menu_moved(self, event: Menu.Moved) -> None:
        self._tell(event.index)

    def on_menu_chosen(self, event: Menu.Chosen) -> None:
        card = self._cards[event.index]
        if card.obstacle:
            self.notify(card.obstacle, title=f"{card.name} cannot be used now", severity="warning", markup=False)
        else:
            self.dismiss(card.name)

    def _tell(self, index: int) -> None:
        if self._cards:
            card = self._cards[index]
            obstacle = (("not usable", card.obstacle),) if card.obstacle else ()
            self.query_one(Details).show(card.title, (*obstacle, *card.details))


_HEAD = line(Span(f"  {'board':<20}{'kind':<10}{'cores':>5}{'clock':>9}{'RAM':>10}   state", Ink.DIM))


def _entry(card: BoardCard, current: bool) -> Line:
    clock = f"{si(card.clock_hz)}Hz" if card.clock_hz else "unknown"
    text = f"{card.name:<20}{card.kind:<10}{card.cores:>5}{clock:>9}{binary(card.ram_bytes):>10}   "
    if card.obstacle:
        return line(text, Span("▲ not now", Ink.WARN))
    return line(text, Span("● chosen" if current else "● free", Ink.GOOD))
