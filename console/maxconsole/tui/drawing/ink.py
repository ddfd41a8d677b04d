# SPDX-License-Identifier: Apache-2.0
"""Text with a role instead of a color: a theme decides what a role looks like."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, set_cell_size


class Ink(StrEnum):
    """Why a piece of text is there. Nothing is told by color alone: words or shapes say the same."""

    PLAIN = "plain"
    DIM = "dim"  # labels, units, what is zero or absent
    TITLE = "title"
    STRONG = "strong"
    ACCENT = "accent"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    BAR = "bar"
    TRACK = "track"  # the empty part of a bar
    LINE = "line"  # rules and axes
    SINK = "sink"  # attention sinks in the KV band
    PAST = "past"  # tokens that have left the window but not yet their slot
    BADGE = "badge"
    KEY = "key"
    CURSOR = "cursor"  # the selected row


class Span(NamedTuple):
    """A run of characters in one ink. Holds no control characters."""

    text: str
    ink: Ink = Ink.PLAIN


SPACE = Span(" ")

Line: TypeAlias = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """A line of plain strings and spans; empty ones are left out."""
    spans = (Span(part) if isinstance(part, str) else part for part in parts)
    return tuple(span for span in spans if span.text)


def width(spans: Iterable[Span]) -> int:
    """Terminal cells that the spans take."""
    return sum(cell_len(span.text) for span in spans)


def fit(spans: Line, cells: int) -> Line:
    """The line cut to at most `cells` terminal cells; what is cut ends in an ellipsis."""
    if width(spans) <= cells:
        return spans
    if cells <= 0:
        return ()
    room, kept = cells - 1, []
    for span in spans:
        length = cell_len(span.text)
        if length > room:
            kept.append(Span(set_cell_size(span.text, room).rstrip() + "…", span.ink))
            break
        kept.append(span)
        room -= length
    return tuple(kept)


def spread(left: Line, right: Line, cells: int, fill: Span = SPACE) -> Line:
    """`left` and `right` at the two ends of `cells`; the left one gives way when both do not fit."""
    right = fit(right, cells)
    left = fit(left, max(0, cells - width(right) - 1)) if right else fit(left, cells)
    gap = cells - width(left) - width(right)
    return (*left, Span(fill.text * gap, fill.ink), *right) if gap else (*left, *right)


def plain(spans: Iterable[Span]) -> str:
    """The text alone."""
    return "".join(span.text for span in spans)
