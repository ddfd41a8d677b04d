# SPDX-License-Identifier: Apache-2.0
"""The KV ring as a band: one cell for a run of slots, told apart by shape as well as by ink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from maxconsole.tui.drawing.ink import Ink, Line, Span, line


class Slot(StrEnum):
    """What a slot holds; the value is its glyph."""

    SINK = "◆"
    VISIBLE = "█"
    PAST = "░"  # a token that has left the window, not yet overwritten
    FREE = "·"


_INKS = {Slot.SINK: Ink.SINK, Slot.VISIBLE: Ink.BAR, Slot.PAST: Ink.PAST, Slot.FREE: Ink.TRACK}


@dataclass(frozen=True, slots=True)
class Ring:
    """Which slots hold what. Slots are numbered as on the board: page 0 is fixed, the ring runs behind it.

    `context` tokens are visible to the next query: the first `sinks`, and the latest `context - sinks`.
    `length` tokens have been appended.
    """

    capacity: int
    page_tokens: int
    context: int
    sinks: int
    length: int

    def slot(self, position: int) -> int:
        """Where the token at `position` is stored."""
        if position < self.page_tokens:
            return position
        return self.page_tokens + (position - self.page_tokens) % self._turning

    @property
    def oldest(self) -> int:
        """Position of the oldest visible token that is no sink."""
        return max(min(self.sinks, self.length), self.length - (self.context - self.sinks))

    @property
    def visible(self) -> int:
        """Tokens that the next query sees."""
        return min(self.length, self.sinks) + self.length - self.oldest

    @property
    def _turning(self) -> int:
        return self.capacity - self.page_tokens

    def runs(self) -> list[tuple[int, int, Slot]]:
        """Runs of slots `first..end` that hold the same, free ones left out; at most seven, however long the ring."""
        sinks, fixed = min(self.sinks, self.length), min(self.page_tokens, self.length)
        kept = max(fixed, self.length - self._turning)
        cut = min(max(self.oldest, kept), self.length)
        middle = min(max(self.oldest, sinks), fixed)
        positions = (
            (0, sinks, Slot.SINK),
            (sinks, middle, Slot.PAST),
            (middle, fixed, Slot.VISIBLE),
            (kept, cut, Slot.PAST),
            (cut, self.length, Slot.VISIBLE),
        )
        return [run for first, end, kind in positions for run in self._unroll(first, end, kind)]

    def _unroll(self, first: int, end: int, kind: Slot) -> Iterator[tuple[int, int, Slot]]:
        """Slots of a range of positions that lies in page 0 or in the ring: two runs where it wraps."""
        if first >= end:
            return
        start, stop = self.slot(first), self.slot(end - 1) + 1
        if start < stop:
            yield start, stop, kind
        else:
            yield start, self.capacity, kind
            yield self.page_tokens, stop, kind


def band(ring: Ring, cells: int) -> Line:
    """The slots of the ring in `cells` cells. A cell shows what most of its slots hold; sinks always show."""
    runs = ring.runs()
    drawn = [(str(Slot.FREE), _INKS[Slot.FREE])] * cells
    mixed = set[int]()
    for start, stop, kind in runs:
        first, last = -(-start * cells // ring.capacity), stop * cells // ring.capacity
        drawn[first:last] = [(str(kind), _INKS[kind])] * max(0, last - first)
        mixed |= {start * cells // ring.capacity, min(cells - 1, last)}
    for cell in mixed:
        drawn[cell] = _cell(runs, cell * ring.capacity / cells, (cell + 1) * ring.capacity / cells)
    spans = list[Span]()
    for text, ink in drawn:
        if spans and spans[-1].ink is ink:
            spans[-1] = Span(spans[-1].text + text, ink)
        else:
            spans.append(Span(text, ink))
    return tuple(spans)


def _cell(runs: list[tuple[int, int, Slot]], first: float, end: float) -> tuple[str, Ink]:
    held = dict.fromkeys(Slot, 0.0)
    left = first + (end - first) / 2
    on_left = 0.0
    for start, stop, kind in runs:
        held[kind] += max(0.0, min(end, stop) - max(first, start))
        if kind is Slot.VISIBLE:
            on_left += max(0.0, min(left, stop) - max(first, start))
    share = held[Slot.VISIBLE] / (end - first)
    if held[Slot.SINK]:
        kind = Slot.SINK
    elif share >= 0.75:
        kind = Slot.VISIBLE
    elif share >= 0.25:
        return ("▌" if 2 * on_left >= held[Slot.VISIBLE] else "▐"), Ink.BAR
    else:
        kind = Slot.PAST if 2 * held[Slot.PAST] >= end - first else Slot.FREE
    return str(kind), _INKS[kind]


def cell_of(slot: int, capacity: int, cells: int) -> int:
    """The cell of the band that shows `slot`."""
    return min(cells - 1, slot * cells // max(1, capacity))


def markers(marks: list[tuple[int, str]], cells: int) -> Line:
    """A row with each text at its cell, moved left where it would run over the end. Later ones give way to earlier."""
    row = [" "] * cells
    for cell, text in marks:
        at = max(0, min(cell, cells - len(text)))
        room = row[max(0, at - 1) : at + len(text) + 1]
        if all(char == " " for char in room):
            row[at : at + len(text)] = text
    return line(Span("".join(row).rstrip(), Ink.DIM))
