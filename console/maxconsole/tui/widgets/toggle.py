# SPDX-License-Identifier: Apache-2.0
"""A field that is one of a few words: Space, Enter or the arrows go to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.widgets.inked import Inked


class Toggle(Inked, can_focus=True):
    """`◂ timed ▸`: says what it is in words, so that no color and no tick has to be understood."""

    DEFAULT_CSS = "Toggle { height: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,right", "turn(1)", show=False),
        Binding("left", "turn(-1)", show=False),
    ]

    @dataclass
    class Turned(Message):
        """Another word is chosen."""

        toggle: Toggle

        @property
        def control(self) -> Toggle:
            """For the selector of a handler."""
            return self.toggle

    def __init__(self, options: Sequence[str], index: int, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._options = options
        self.index = index

    def action_turn(self, steps: int) -> None:
        self.index = (self.index + steps) % len(self._options)
        self.redraw()
        self.post_message(self.Turned(self))

    def on_click(self) -> None:
        self.action_turn(1)

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        del cells, rows
        ink = Ink.CURSOR if self.has_focus else Ink.PLAIN
        return [line(Span("◂ ", Ink.KEY), Span(self._options[self.index], ink), Span(" ▸", Ink.KEY))]
