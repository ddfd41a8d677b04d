# SPDX-License-Identifier: Apache-2.0
"""The recording picker: what can be played without a board."""

from __future__ import annotations

from collections.abc import Sequence

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical

from maxconsole.errors import UserError
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import clock
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.seam import RecordingCard, Session, Workbench
from maxconsole.tui.widgets.details import Details
from maxconsole.tui.widgets.menu import Menu
from maxconsole.tui.widgets.rule import Rule

_HEAD = line(Span(f"  {'recording':<34}{'length':>7}  {'board':<20}figures", Ink.DIM))


class RecordingPicker(Dialog[Session]):
    """Gives the replay of the recording that the user takes."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._cards: Sequence[RecordingCard] = ()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rule("", "Play a recording")
            yield Menu("none is in this folder, and none was shipped")
            yield Details()
            yield DialogKeys(("↑↓", "move"), ("Enter", "play it"), ("Esc", "back"))

    def on_mount(self) -> None:
        self.query_one(Rule).say(lit=True)
        self.query_one(Menu).show(_HEAD, ())
        self.query_one(Menu).focus()
        self._read()

    @work(thread=True)
    def _read(self) -> None:
        cards = self._workbench.recordings()
        self.app.call_from_thread(self._show, cards)

    def _show(self, cards: Sequence[RecordingCard]) -> None:
        self._cards = cards
        self.query_one(Menu).show(_HEAD, [_entry(card) for card in cards], 0)
        self._tell(0)

    def on_menu_moved(self, event: Menu.Moved) -> None:
        self._tell(event.index)

    def on_menu_chosen(self, event: Menu.Chosen) -> None:
        try:
            self.dismiss(self._workbench.replay(self._cards[event.index].path))
        except UserError as error:
            self.notify(str(error), title="it cannot be played", severity="error", markup=False)

    def _tell(self, index: int) -> None:
        if index < len(self._cards):
            card = self._cards[index]
            self.query_one(Details).show(card.name, (("model", card.model), *card.details))


def _entry(card: RecordingCard) -> Line:
    return line(f"{card.name:<34.33}{clock(card.seconds):>7}  {card.board:<20.19}{card.badge}")
