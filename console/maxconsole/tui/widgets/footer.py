# SPDX-License-Identifier: Apache-2.0
"""The keys that count now, from the action table."""

from __future__ import annotations

from collections.abc import Sequence

from maxconsole.tui.actions import Situation, for_footer
from maxconsole.tui.drawing.ink import Ink, Line, Span, line, width
from maxconsole.tui.widgets.inked import Inked


class Keys(Inked):
    """As many as fit, in the table's order."""

    DEFAULT_CSS = "Keys { height: 1; }"

    _situation = Situation()

    def show(self, situation: Situation) -> None:
        """Draws what applies in `situation`."""
        if situation != self._situation:
            self._situation = situation
            self.redraw()

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        del rows
        return [key_line([(action.key_label, action.footer) for action in for_footer(self._situation)], cells)]


def key_line(keys: Sequence[tuple[str, str]], cells: int) -> Line:
    """`F1 help  Esc stop`: as many as fit; the last one always stands at the right end."""
    *first, last = [line(Span(f" {key}", Ink.KEY), Span(f" {word} ", Ink.DIM)) for key, word in keys] or [()]
    room = cells - width(last)
    shown: list[Span] = []
    for entry in first:
        if width(entry) > room:
            break
        shown += entry
        room -= width(entry)
    return (*shown, Span(" " * room), *last) if room else (*shown, *last)
