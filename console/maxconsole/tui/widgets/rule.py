# SPDX-License-Identifier: Apache-2.0
"""The rule above a pane that is made of several widgets."""

from __future__ import annotations

from collections.abc import Sequence

from maxconsole.tui.drawing.ink import Line
from maxconsole.tui.panes.pane import title_rule
from maxconsole.tui.widgets.inked import Inked


class Rule(Inked):
    """Name, note and headline; heavy while `lit`."""

    DEFAULT_CSS = "Rule { height: 1; }"

    def __init__(self, number: str, name: str) -> None:
        super().__init__()
        self._number = number
        self._title = name
        self._note: Line = ()
        self._headline: Line = ()
        self._lit = False

    def say(self, *, note: Line | None = None, headline: Line | None = None, lit: bool | None = None) -> None:
        """Changes what is given."""
        before = (self._note, self._headline, self._lit)
        self._note = self._note if note is None else note
        self._headline = self._headline if headline is None else headline
        self._lit = self._lit if lit is None else lit
        if (self._note, self._headline, self._lit) != before:
            self.redraw()

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        del rows
        return [title_rule(self._number, self._title, self._note, self._headline, cells, focused=self._lit)]
