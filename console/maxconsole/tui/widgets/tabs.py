# SPDX-License-Identifier: Apache-2.0
"""The strip that stands for the panes where only one of them has room: each with its key figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message

from maxconsole.tui.drawing.ink import Ink, Line, Span, line, width
from maxconsole.tui.widgets.inked import Inked


@dataclass(frozen=True, slots=True)
class Tab:
    """One pane: its number, its name, and its figure in few characters."""

    number: str
    name: str
    figure: str = ""


class TabStrip(Inked):
    """A rule that carries the tabs; a click on one chooses it."""

    DEFAULT_CSS = "TabStrip { height: 1; }"

    @dataclass
    class Chosen(Message):
        """The user clicked on the tab with this number."""

        number: str

    def __init__(self) -> None:
        super().__init__()
        self._tabs: tuple[Tab, ...] = ()
        self._active = "1"
        self._lit = False

    def show(self, tabs: tuple[Tab, ...], active: str, *, lit: bool) -> None:
        """Draws `tabs` with the `active` one marked; heavy while `lit`, when the focus is in its pane."""
        self._tabs, self._active, self._lit = tabs, active, lit
        self.redraw()

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        del rows
        return [tab_line(self._tabs, self._active, cells, lit=self._lit)]

    def on_click(self, event: events.Click) -> None:
        for tab, start, end in _spots(self._tabs, self._active, self.size.width):
            if start <= event.x < end:
                self.post_message(self.Chosen(tab.number))


def tab_line(tabs: Sequence[Tab], active: str, cells: int, *, lit: bool) -> Line:
    """The strip in `cells` cells. Figures go first where room is short, those on the right before others."""
    dash, ink = ("━", Ink.ACCENT) if lit else ("─", Ink.LINE)
    parts: list[Span] = []
    for tab, entry in zip(tabs, _entries(tabs, active, cells), strict=True):
        parts += [Span(f"{dash}", ink), *entry]
        del tab
    return (*parts, Span(dash * max(0, cells - width(parts)), ink))


def _entries(tabs: Sequence[Tab], active: str, cells: int) -> list[Line]:
    shown = [_entry(tab, active, figure=True) for tab in tabs]
    for at in sorted(range(len(tabs)), key=lambda at: (tabs[at].number == active, -at)):
        if sum(width(entry) + 1 for entry in shown) <= cells:
            break
        shown[at] = _entry(tabs[at], active, figure=False)
    return shown


def _entry(tab: Tab, active: str, *, figure: bool) -> Line:
    chosen = tab.number == active
    left, right = ("▐", "▌") if chosen else (" ", " ")
    name = Span(tab.name, Ink.TITLE if chosen else Ink.DIM)
    value = f" {tab.figure}" if figure and tab.figure else ""
    return line(Span(left, Ink.ACCENT), Span(f"{tab.number} ", Ink.KEY), name, value, Span(right, Ink.ACCENT))


def _spots(tabs: Sequence[Tab], active: str, cells: int) -> list[tuple[Tab, int, int]]:
    spots, at = [], 0
    for tab, entry in zip(tabs, _entries(tabs, active, cells), strict=True):
        length = width(entry) + 1
        spots.append((tab, at, at + length))
        at += length
    return spots
