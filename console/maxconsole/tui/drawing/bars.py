# SPDX-License-Identifier: Apache-2.0
"""Horizontal bars with a resolution of an eighth of a cell."""

from __future__ import annotations

from maxconsole.tui.drawing.ink import Ink, Line, Span, line

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(fraction: float | None, cells: int, ink: Ink = Ink.BAR) -> Line:
    """A bar that fills `fraction` of `cells`, on a dotted track.

    What is not zero shows at least an eighth of a cell, and only a whole is drawn whole.
    """
    if cells <= 0:
        return ()
    share = min(1.0, max(0.0, fraction or 0.0))
    eighths = round(share * cells * 8)
    if share > 0:
        eighths = max(1, eighths)
    if share < 1:
        eighths = min(cells * 8 - 1, eighths)
    full, part = divmod(eighths, 8)
    filled = "█" * full + (_EIGHTHS[part] if part else "")
    return line(Span(filled, ink), Span("·" * (cells - len(filled)), Ink.TRACK))
