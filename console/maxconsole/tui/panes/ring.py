# SPDX-License-Identifier: Apache-2.0
"""Pane 3: the KV ring as a band, with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from maxconsole.tui.actions import Where, bindings
from maxconsole.tui.drawing.band import Slot, band, cell_of, markers
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import binary, grouped, percent, si
from maxconsole.tui.panes.pane import Pane

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot
    from maxconsole.tui.figures.ring import RingFigures


class RingPane(Pane):
    """Which slots the next query sees, where the next token goes, and what the index map costs."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.RING), *bindings(Where.PANES)]
    WHERE = Where.RING
    NUMBER = "3"
    NAME = "KV ring"

    _figures: RingFigures | None = None

    def digest(self, snapshot: Snapshot) -> None:
        from maxconsole.tui.figures.ring import ring_figures  # noqa: PLC0415  numpy would delay the first paint

        self._figures = ring_figures(snapshot.kv) if snapshot.kv else None

    def headline(self) -> Line:
        if self.snapshot is None or self._figures is None:
            return ()
        ring = self._figures.ring
        return line(grouped(ring.visible), Span(f" of {grouped(ring.context)} tokens visible", Ink.DIM))

    def figure(self) -> str:
        if self.snapshot is None or self._figures is None:
            return ""
        return f"{self._figures.ring.visible}/{self._figures.ring.context}"

    def body(self, snapshot: Snapshot, cells: int, rows: int) -> Sequence[Line]:
        figures = self._figures
        if figures is None:
            return [line(Span(" no model is loaded", Ink.DIM))]
        room = cells - 2
        drawn = [_pointers(figures, room), *_bands(figures, room, 2 if rows >= 8 else 1), _axis(figures, room)]
        drawn += _table(figures, cells, rows - len(drawn))
        if rows > len(drawn):
            drawn.append(_legend())
        return drawn


def _pointers(figures: RingFigures, room: int) -> Line:
    ring = figures.ring
    marks = [(cell_of(figures.end, ring.capacity, room), f"▾end {figures.end}")]
    if ring.length:
        marks.append((cell_of(figures.start, ring.capacity, room), f"▾start {figures.start}"))
    return line(" ", *markers(marks, room))


def _bands(figures: RingFigures, room: int, rows: int) -> list[Line]:
    drawn = line(" ", *band(figures.ring, room))
    return [drawn] * rows


def _axis(figures: RingFigures, room: int) -> Line:
    """Slot numbers: the ends, the first slot that turns, and quarters between."""
    ring = figures.ring
    last = f"{ring.capacity} slots"
    marks = [(room, last), (0, "0"), (cell_of(ring.page_tokens, ring.capacity, room), str(ring.page_tokens))]
    marks += [
        (cell_of(ring.capacity * part // 4, ring.capacity, room), str(ring.capacity * part // 4)) for part in (2, 1, 3)
    ]
    return line(" ", *markers(marks, room))


def _table(figures: RingFigures, cells: int, rows: int) -> list[Line]:
    ring = figures.ring
    entries = [
        ("tokens", grouped(ring.length), ""),
        (
            "occupied",
            percent(figures.occupied / ring.capacity),
            f"{grouped(figures.occupied)} of {grouped(ring.capacity)}",
        ),
        ("wraps", grouped(figures.wraps), ""),
        ("memory", binary(figures.bytes_used), f"of {binary(figures.bytes_held).strip()}"),
        ("map hits", percent(figures.map_hits), f"of {si(figures.map_lookups).strip()}"),
        ("per token", binary(figures.bytes_per_token), f"{figures.map_entries} pages"),
    ]
    columns = 2 if cells >= 64 else 1
    column_cells = cells // columns
    per_column = -(-len(entries) // columns)
    drawn: list[Line] = []
    for row in range(min(rows, per_column)):
        parts: list[Span] = []
        for index in range(row, len(entries), per_column):
            parts += _entry(*entries[index], column_cells)
        drawn.append(tuple(parts))
    return drawn


def _entry(label: str, value: str, note: str, cells: int) -> list[Span]:
    text = f" {note}"[: max(0, cells - 21)]
    return [
        Span(f" {label:<10}", Ink.DIM),
        Span(f"{value.rstrip() if not value.endswith('B  ') else value:>10}"),
        Span(f"{text:<{max(0, cells - 21)}}", Ink.DIM),
    ]


def _legend() -> Line:
    names = (
        (Slot.SINK, Ink.SINK, "sinks"),
        (Slot.VISIBLE, Ink.BAR, "visible"),
        (Slot.PAST, Ink.PAST, "left the window"),
        (Slot.FREE, Ink.TRACK, "free"),
    )
    parts: list[Span] = []
    for slot, ink, name in names:
        parts += [Span(" "), Span(str(slot), ink), Span(f" {name} ", Ink.DIM)]
    return tuple(parts)
