# SPDX-License-Identifier: Apache-2.0
"""Horizontal bars with a resolution of half a cell."""

from __future__ import annotations

from maxconsole.tui.drawing.ink import Ink, Line, Span, line


def bar(fraction: float | None, cells: int, ink: Ink = Ink.BAR) -> Line:
    """A bar that fills `fraction` of `cells`, on a thin track.

    What is not zero shows at least half a cell, and only a whole is drawn whole.
    """
    if cells <= 0:
        return ()
    share = min(1.0, max(0.0, fraction or 0.0))
    halves = round(share * cells * 2)
    if share > 0:
        halves = max(1, halves)
    if share < 1:
        halves = min(cells * 2 - 1, halves)
    filled = "━" * (halves // 2) + "╸" * (halves % 2)
    return line(Span(filled, ink), Span("┈" * (cells - len(filled)), Ink.TRACK))
