# SPDX-License-Identifier: Apache-2.0
"""Help: the numbers of the pane one is in, then the bar, then every key, all from the tables."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from maxconsole.tui.actions import ACTIONS, Where
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.wrap import wrap
from maxconsole.tui.explain import PANES, STATUS, Entries
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.widgets.rule import Rule
from maxconsole.tui.widgets.scroller import Scroller

_LABEL = 18
_TITLES = {
    Where.PROMPT: "Chat",
    Where.KERNELS: "Kernels",
    Where.CACHES: "Caches",
    Where.RING: "KV ring",
    Where.LOG: "Log",
    Where.TIMELINE: "Timeline",
}


class HelpText(Scroller):
    """The text, wrapped to the width."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self._where = where
        self._lines: list[Line] = []
        self.following = False

    def on_resize(self, _event: events.Resize) -> None:
        self._lines = help_lines(self._where, max(30, self.size.width - 2))
        self.changed()

    def line_count(self) -> int:
        return len(self._lines)

    def line(self, y: int) -> Line:
        return self._lines[y]


class HelpScreen(Dialog[None]):
    """About `where`, and all the rest below."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f1,q", "leave", show=False)]

    def __init__(self, where: Where) -> None:
        super().__init__()
        self._where = where

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rule("", "Help")
            yield HelpText(self._where)
            yield DialogKeys(("↑↓ PgUp PgDn", "scroll"), ("Esc", "back"))

    def on_mount(self) -> None:
        note = line(Span(_TITLES.get(self._where, "Chat"), Ink.DIM))
        self.query_one(Rule).say(note=note, lit=True)
        self.query_one(HelpText).focus()


def help_lines(where: Where, cells: int) -> list[Line]:
    """Everything, the part about `where` first."""
    first = where if where in PANES else Where.PROMPT
    order = [first, *(one for one in PANES if one is not first)]
    lines: list[Line] = [
        *_section(_TITLES[first], PANES[first], cells),
        *_section("The bar", STATUS, cells),
        *_keys(cells),
    ]
    for one in order[1:]:
        lines += _section(_TITLES[one], PANES[one], cells)
    return lines


def _section(title: str, entries: Entries, cells: int) -> list[Line]:
    lines: list[Line] = [line(Span(f" {title}", Ink.TITLE))]
    for label, text in entries:
        lines += _entry(label, text, cells, Ink.ACCENT)
    return [*lines, ()]


def _keys(cells: int) -> list[Line]:
    """All actions, by area; those without a key are reached by the command palette."""
    lines: list[Line] = [line(Span(" Keys", Ink.TITLE))]
    for action in ACTIONS:
        place = "" if action.where in {Where.ANYWHERE, Where.PROMPT} else f" (in {_place(action.where)})"
        label = action.key_label or "Ctrl+P"
        lines += _entry(label, f"{action.title}: {action.help}{place}", cells, Ink.KEY)
    return [*lines, ()]


def _place(where: Where) -> str:
    return "any pane" if where is Where.PANES else f"the pane {_TITLES[where]}"


def _entry(label: str, text: str, cells: int, ink: Ink) -> list[Line]:
    rows = wrap(text, cells - _LABEL - 2)
    first = line(Span(f"  {label:<{_LABEL - 1}} ", ink), rows[0])
    return [first, *(line(" " * (_LABEL + 2), row) for row in rows[1:])]
