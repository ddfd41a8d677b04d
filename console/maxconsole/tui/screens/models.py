# SPDX-License-Identifier: Apache-2.0
"""The model picker: every model at hand, with the planner's verdict for the chosen board beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from maxconsole.errors import UserError
from maxconsole.tui.drawing.ink import Ink, Line, Span, fit, line, width
from maxconsole.tui.drawing.units import binary
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.seam import Choice, ModelCard, Workbench
from maxconsole.tui.widgets.details import Details
from maxconsole.tui.widgets.menu import Menu
from maxconsole.tui.widgets.rule import Rule


class ModelPicker(Dialog[ModelCard]):
    """Gives the card of the model that the user takes; only one that fits can be taken."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"type_path({first!r})", show=False, priority=True)
        for key, first in (("slash", "/"), ("full_stop", "."), ("tilde", "~"))
    ]

    def __init__(self, workbench: Workbench, choice: Choice) -> None:
        super().__init__()
        self._workbench = workbench
        self._choice = choice
        self._cards: list[ModelCard] = []
        self._typing = False
        self._first = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rule("", "Choose a model")
            yield Menu("reading model files …")
            yield Details()
            yield Input(placeholder="or the path of a GGUF file, then Enter", compact=True, select_on_focus=False)
            yield DialogKeys(("↑↓", "move"), ("Enter", "take it"), ("/ . ~", "type a path"), ("Esc", "back"))

    def on_mount(self) -> None:
        choice = self._choice
        board = choice.board or self._workbench.default.board or "the default board"
        about = f"for {board}, context {choice.context}, batch {choice.batch}"
        self.query_one(Rule).say(note=line(Span(about, Ink.DIM)), lit=True)
        if self._typing:
            self._open_path(self._first)
        else:
            self.set_focus(self.query_one(Menu))
        self._draw()
        self._read(lambda: self._workbench.models(choice))

    @work(thread=True, group="models")
    def _read(self, get: Callable[[], Sequence[ModelCard]]) -> None:
        """Reading the headers of large files takes a moment: not on the screen's thread."""
        try:
            cards = list(get())
        except UserError as error:
            self.app.call_from_thread(self._refuse, error)
            return
        self.app.call_from_thread(self._add, cards)

    def _refuse(self, error: UserError) -> None:
        self.notify(str(error), title="this is no usable model", severity="error", markup=False)

    def _add(self, cards: list[ModelCard]) -> None:
        known = {card.path for card in cards}
        self._cards = [*(card for card in self._cards if card.path not in known), *cards]
        paths = [card.path for card in self._cards]
        here = cards[-1].path if len(cards) == 1 else self._choice.model
        self._draw(paths.index(here) if here in paths else 0)

    def _draw(self, cursor: int = 0) -> None:
        room = max(20, self.size.width - 8)
        self.query_one(Menu).show(_head(room), [_entry(card, room) for card in self._cards], cursor)
        self._tell(cursor)

    def _tell(self, index: int) -> None:
        if index < len(self._cards):
            card = self._cards[index]
            self.query_one(Details).show(card.name, (("verdict", card.verdict), *card.details))

    def on_menu_moved(self, event: Menu.Moved) -> None:
        self._tell(event.index)

    def on_menu_chosen(self, event: Menu.Chosen) -> None:
        card = self._cards[event.index]
        if card.fits:
            self.dismiss(card)
        else:
            self.notify(card.verdict, title=f"{card.name} cannot be used here", severity="warning", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        path = event.value.strip()
        if path:
            self.query_one(Menu).focus()
            self._read(lambda: [self._workbench.model(path, self._choice)])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What begins a path is within one a character like others."""
        return super().check_action(action, parameters) if action != "type_path" else not self._typing

    def action_type_path(self, first: str) -> None:
        """A path that begins with this character."""
        self._typing = True
        if self.is_mounted:
            self._open_path(first)
        else:
            self._first = first

    def _open_path(self, first: str) -> None:
        field = self.query_one(Input)
        field.value = first
        field.cursor_position = len(first)
        self.set_focus(field)  # at once: the next keys may have been typed already

    async def on_key(self, event: events.Key) -> None:
        """Keys of a path that came before its field was there; and Enter, which comes before its binding."""
        field = self.query_one(Input)
        if self._typing and event.is_printable and event.character:
            event.stop()
            field.insert_text_at_cursor(event.character)
        elif self._typing and event.key == "enter":
            event.stop()
            await field.action_submit()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._typing = isinstance(event.widget, Input)


_SIZE_CELLS = 10
_FORMAT_CELLS = 14


def _name_cells(room: int) -> int:
    return max(16, min(40, (room - _SIZE_CELLS - _FORMAT_CELLS) // 2))


def _head(room: int) -> Line:
    return line(
        Span(f"  {'model':<{_name_cells(room)}}{'file':>{_SIZE_CELLS}}  {'formats':<{_FORMAT_CELLS}}verdict", Ink.DIM)
    )


def _entry(card: ModelCard, room: int) -> Line:
    name = fit(line(card.name), _name_cells(room) - 1)
    gap = " " * (_name_cells(room) - width(name))
    formats = fit(line(card.formats), _FORMAT_CELLS - 1)
    pad = " " * (_FORMAT_CELLS - width(formats))
    verdict = card.verdict.splitlines()[0] if card.verdict else ""
    mark = Span("● ", Ink.GOOD) if card.fits else Span("■ ", Ink.BAD)
    return (*name, Span(f"{gap}{binary(card.file_bytes):>{_SIZE_CELLS}}  "), *formats, Span(pad), mark, Span(verdict))
