# SPDX-License-Identifier: Apache-2.0
"""What pickers of cards share: a list read on a thread of its own, and details of the card under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeAlias, TypeVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical

from maxconsole.errors import UserError
from maxconsole.tui.drawing.ink import Line
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.widgets.details import Details
from maxconsole.tui.widgets.menu import Menu
from maxconsole.tui.widgets.rule import Rule

T = TypeVar("T")
C = TypeVar("C")

Facts: TypeAlias = tuple[str, Sequence[tuple[str, str]]]
"""A title, and names with what they say."""


class Picker(Dialog[T], Generic[T, C]):
    """A dialog that lists cards of type C and gives a T for the one that the user takes."""

    TITLE_TEXT: ClassVar[str]
    WAITING: ClassVar[str]  # in place of the list while it is empty
    TAKE: ClassVar[str]  # what Enter does
    FAILED: ClassVar[str]  # title of what the user is told where there is nothing to list
    HEAD: ClassVar[Line]

    def read(self) -> Sequence[C]:
        """The cards; not on the screen's thread. Raises UserError where there are none to be had: the picker leaves."""
        raise NotImplementedError

    def entry(self, card: C) -> Line:
        """The card's line."""
        raise NotImplementedError

    def facts(self, card: C) -> Facts:
        """What is told of the card under the cursor."""
        raise NotImplementedError

    def take(self, card: C) -> None:
        """The user wants this one."""
        raise NotImplementedError

    def is_chosen(self, card: C) -> bool:
        """Where the cursor begins."""
        return False

    def compose(self) -> ComposeResult:
        self._cards: Sequence[C] = ()
        with Vertical(classes="dialog"):
            yield Rule("", self.TITLE_TEXT)
            yield Menu(self.WAITING)
            yield Details()
            yield DialogKeys(("↑↓", "move"), ("Enter", self.TAKE), ("Esc", "back"))

    def on_mount(self) -> None:
        self.query_one(Rule).say(lit=True)
        self.query_one(Menu).show(self.HEAD, ())
        self.query_one(Menu).focus()
        self._read()

    @work(thread=True)
    def _read(self) -> None:
        try:
            cards = self.read()
        except UserError as error:
            self.app.call_from_thread(self._fail, error)
            return
        self.app.call_from_thread(self._show, cards)

    def _fail(self, error: UserError) -> None:
        self.notify(str(error), title=self.FAILED, severity="error", markup=False)
        self.dismiss(None)

    def _show(self, cards: Sequence[C]) -> None:
        self._cards = cards
        cursor = next((index for index, card in enumerate(cards) if self.is_chosen(card)), 0)
        self.query_one(Menu).show(self.HEAD, [self.entry(card) for card in cards], cursor)
        self._tell(cursor)

    def on_menu_moved(self, event: Menu.Moved) -> None:
        self._tell(event.index)

    def on_menu_chosen(self, event: Menu.Chosen) -> None:
        self.take(self._cards[event.index])

    def _tell(self, index: int) -> None:
        if index < len(self._cards):
            self.query_one(Details).show(*self.facts(self._cards[index]))
