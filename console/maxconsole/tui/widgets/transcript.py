# SPDX-License-Identifier: Apache-2.0
"""The conversation on the screen: wrapped to the width, only the turn that grows is wrapped anew."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events
from textual.binding import BindingType

from maxconsole.tui.actions import Where, bindings
from maxconsole.tui.chat import Chat, Speaker, Turn
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.wrap import wrap
from maxconsole.tui.widgets.scroller import Scroller

_MARGIN: Final = 2
_MARKS: Final = {Speaker.USER: (">", Ink.ACCENT), Speaker.MODEL: (" ", Ink.PLAIN), Speaker.CONSOLE: ("!", Ink.WARN)}


class Transcript(Scroller):
    """Shows a Chat. Call `update_chat` whenever it may have changed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.PANES)
    WHERE = Where.PANES

    def __init__(self, chat: Chat, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._chat = chat
        self._lines: list[Line] = []
        self._drawn: list[tuple[int, int, int]] = []  # for each turn: its identity, its version, its first line
        self._cells = 0
        self._edited: int | None = None
        self._guide: list[Line] = []

    def guide(self, lines: list[Line]) -> None:
        """What stands here while nothing has been said."""
        if lines != self._guide:
            self._guide = lines
            self.changed()

    def update_chat(self, *, edited: int | None = None) -> None:
        """Brings the lines up to date. `edited` is the turn that is being edited: it and what follows are dimmed."""
        cells = max(8, self.size.width - _MARGIN - 1)
        turns = self._chat.turns
        if cells != self._cells or edited != self._edited:
            self._drawn.clear()
            self._cells, self._edited = cells, edited
        same = 0
        for turn, (identity, version, _) in zip(turns, self._drawn, strict=False):
            if identity != id(turn) or version != turn.version:
                break
            same += 1
        if same == len(turns) == len(self._drawn):
            return
        start = self._drawn[same][2] if same < len(self._drawn) else len(self._lines)
        del self._lines[start if self._drawn else 0 :]
        del self._drawn[same:]
        for index in range(same, len(turns)):
            self._drawn.append((id(turns[index]), turns[index].version, len(self._lines)))
            self._lines += draw_turn(turns[index], cells, faded=edited is not None and index >= edited)
        self.changed()

    def on_resize(self, _event: events.Resize) -> None:
        self.update_chat(edited=self._edited)
        self.changed()

    def line_count(self) -> int:
        return len(self._lines or self._guide)

    def line(self, y: int) -> Line:
        return (self._lines or self._guide)[y]


def draw_turn(turn: Turn, cells: int, *, faded: bool = False) -> list[Line]:
    """A turn as lines of at most `cells + 2` cells: its mark, its text, its small line, and an empty line."""
    mark, mark_ink = _MARKS[turn.speaker]
    ink = Ink.DIM if faded else {Speaker.USER: Ink.STRONG, Speaker.CONSOLE: Ink.WARN}.get(turn.speaker, Ink.PLAIN)
    rows = [row for paragraph in turn.text.split("\n") for row in wrap(paragraph, cells)]
    while len(rows) > 1 and not rows[-1]:
        rows.pop()
    lines = [line(Span(f"{mark} ", mark_ink), Span(row, ink)) for row in rows[:1]]
    lines += [line("  ", Span(row, ink)) for row in rows[1:]]
    if turn.note:
        lines += [line("  ", Span(row, Ink.DIM)) for row in wrap(turn.note, cells)]
    return [*lines, ()]
