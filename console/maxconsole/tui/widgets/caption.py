# SPDX-License-Identifier: Apache-2.0
"""The lines in which a guided demo speaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.wrap import wrap
from maxconsole.tui.widgets.inked import Inked

CAPTION_ROWS: Final = 2


class Caption(Inked):
    """Two rows above the keys, while there is something to say."""

    DEFAULT_CSS = f"Caption {{ height: {CAPTION_ROWS}; display: none; }}"

    _text = ""

    def show(self, text: str) -> None:
        """Says `text`; nothing ends the caption."""
        if text != self._text:
            self._text = text
            self.redraw()

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        wrapped = wrap(self._text, max(20, cells - 3))[:rows]
        return [line(Span("▌ ", Ink.ACCENT), Span(one, Ink.STRONG)) for one in wrapped]
