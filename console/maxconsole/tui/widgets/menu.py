# SPDX-License-Identifier: Apache-2.0
"""A list of lines with a cursor, for pickers: arrows, Page keys, Home, End, Enter, or the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from maxconsole.tui.drawing.ink import Ink, Line, Span, fit, line, width
from maxconsole.tui.widgets.inked import Inked


class Menu(Inked, can_focus=True):
    """`show` gives the lines. The cursor is told by a mark and by reverse text, so it is seen without color."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "move(-100000)", show=False),
        Binding("end", "move(100000)", show=False),
        Binding("enter", "choose", show=False),
    ]

    @dataclass
    class Moved(Message):
        """The cursor is on entry `index`."""

        index: int

    @dataclass
    class Chosen(Message):
        """The user took entry `index`."""

        index: int

    def __init__(self, empty: str = "", *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._empty = empty
        self._head: Line = ()
        self._entries: Sequence[Line] = ()
        self._top = 0
        self.cursor = 0

    def show(self, head: Line, entries: Sequence[Line], cursor: int | None = None) -> None:
        """Draws `entries` below `head`."""
        self._head, self._entries = head, entries
        self.cursor = max(0, min(self.cursor if cursor is None else cursor, len(entries) - 1))
        self.refresh(layout=True)
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The head and all entries."""
        del container, viewport, width
        return 1 + max(1, len(self._entries))

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        if not self._entries:
            return [self._head, line(Span(f"  {self._empty}", Ink.DIM))]
        room = max(1, rows - 1)
        lowest = max(0, len(self._entries) - room)
        self._top = max(min(self._top, self.cursor, lowest), self.cursor - room + 1, 0)
        shown = self._entries[self._top : self._top + room]
        return [self._head, *(self._row(self._top + y, entry, cells) for y, entry in enumerate(shown))]

    def _row(self, index: int, entry: Line, cells: int) -> Line:
        if index != self.cursor:
            return (Span("  "), *entry)
        entry = fit(entry, cells - 2)
        mark = "▸ " if self.has_focus else "▹ "
        text = "".join(span.text for span in entry)
        ink = Ink.CURSOR if self.has_focus else Ink.STRONG
        return (Span(mark, Ink.ACCENT), Span(text + " " * max(0, cells - 2 - width(entry)), ink))

    def action_move(self, steps: int) -> None:
        self._go(self.cursor + steps)

    def action_page(self, pages: int) -> None:
        self._go(self.cursor + pages * max(1, self.size.height - 2))

    def action_choose(self) -> None:
        if self._entries:
            self.post_message(self.Chosen(self.cursor))

    def on_click(self, event: events.Click) -> None:
        index = self._top + event.y - 1
        if 0 <= index < len(self._entries):
            chosen = index == self.cursor
            self._go(index)
            if chosen:
                self.action_choose()

    def on_mouse_scroll_down(self, _event: events.MouseScrollDown) -> None:
        self._go(self.cursor + 1)

    def on_mouse_scroll_up(self, _event: events.MouseScrollUp) -> None:
        self._go(self.cursor - 1)

    def _go(self, index: int) -> None:
        index = max(0, min(index, len(self._entries) - 1))
        if index != self.cursor and self._entries:
            self.cursor = index
            self.redraw()
            self.post_message(self.Moved(index))
