# SPDX-License-Identifier: Apache-2.0
"""Labeled facts about what is under the cursor, wrapped to the width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.wrap import wrap
from maxconsole.tui.widgets.inked import Inked

_LABEL: Final = 14


class Details(Inked):
    """A heading, and below it label and text in two columns."""

    _heading = ""
    _facts: Sequence[tuple[str, str]] = ()

    def show(self, heading: str, facts: Sequence[tuple[str, str]]) -> None:
        """Draws these facts."""
        self._heading, self._facts = heading, facts
        self.redraw()

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        drawn: list[Line] = [(), line(Span(f"  {self._heading}", Ink.TITLE))]
        for label, text in self._facts:
            rows_of_text = [row for part in text.split("\n") for row in wrap(part, cells - _LABEL - 3)]
            for index, row in enumerate(rows_of_text):
                drawn.append(line(Span(f"  {label if index == 0 else '':<{_LABEL}}", Ink.DIM), row))
        return drawn[:rows]
