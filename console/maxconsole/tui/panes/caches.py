# SPDX-License-Identifier: Apache-2.0
"""Pane 2: cache accesses and misses and memory traffic, per level, per kernel and over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import BindingType

from maxconsole.tui.actions import Where, bindings
from maxconsole.tui.drawing.bars import bar
from maxconsole.tui.drawing.braille import history, nice_top
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import NONE, gigabytes, percent, ratio, si
from maxconsole.tui.figures.choices import PhaseChoice
from maxconsole.tui.panes.pane import Pane

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot
    from maxconsole.tui.figures.caches import CacheFigures, KernelCaches, LevelFigures, MemoryFigures, MissHistory

_NAME_CELLS: Final = 16
_BAR_MAX: Final = 40
#: Cells of a chart's upper edge, with the space before it.
_EDGE_CELLS: Final = 10
#: The key of the memory in the history, as figures.caches calls it.
_MEMORY: Final = "memory"
#: Its event, as there.
_BUS_ACCESS_RD: Final = 0x60


@dataclass(frozen=True, slots=True)
class _Column:
    """A figure of each kernel; `cells` includes the gap on the left."""

    head: str
    cells: int
    text: Callable[[KernelCaches], str]


_COLUMNS: Final = (
    _Column("L1D acc", 9, lambda row: si(row.levels["L1D"].accesses)),
    _Column("L1D miss", 9, lambda row: percent(row.levels["L1D"].miss)),
    _Column("L2 miss", 9, lambda row: percent(row.levels["L2"].miss)),
    _Column("L2 MPKI", 8, lambda row: ratio(row.levels["L2"].mpki)),
    _Column("prefetch", 9, lambda row: si(row.levels["L2"].prefetched)),
    _Column("TLB miss", 9, lambda row: percent(row.levels["TLB 1"].miss)),
    _Column("walks/ki", 9, lambda row: ratio(row.levels["walks"].mpki)),
    _Column("GB/s", 7, lambda row: gigabytes(row.memory.rate if row.memory else None)),
)


class CachePane(Pane):
    """Rates of each level with the line of the latest steps; below, which kernels cause the refills."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.CACHES), *bindings(Where.PANES)]
    WHERE = Where.CACHES
    NUMBER = "2"
    NAME = "Caches"

    phase = PhaseChoice.BOTH
    limit: int | None = None  # bytes per second that the board's memory gives at best
    _figures: CacheFigures | None = None
    _history: MissHistory | None = None

    def digest(self, snapshot: Snapshot) -> None:
        from maxconsole.tui.figures import caches  # noqa: PLC0415  numpy would delay the first paint

        self._figures = caches.cache_figures(snapshot, self.phase)
        if self._history is None:
            self._history = caches.MissHistory()
        self._history.add(snapshot)

    def clear(self) -> None:
        self._figures = self._history = None
        super().clear()

    def next_phase(self) -> None:
        """Both phases, prefill alone, decode alone."""
        self.phase = self.phase.following
        if self.snapshot is not None:
            self.digest(self.snapshot)
        self.redraw()

    def note(self) -> Line:
        return line(Span(f"{self.phase}, {self.origin}", Ink.DIM)) if self.snapshot else ()

    def headline(self) -> Line:
        if self.snapshot is None or self._figures is None:
            return ()
        parts: list[Span] = []
        for name, value in self._key_figures(self._figures):
            parts += [Span(f"{'  ' if parts else ''}{name} ", Ink.DIM), Span(value)]
        return tuple(parts)

    def figure(self) -> str:
        found = self._key_figures(self._figures) if self.snapshot and self._figures else []
        return " ".join(found[0]) if found else ""

    def _key_figures(self, figures: CacheFigures) -> list[tuple[str, str]]:
        found = [(level.name, percent(level.miss).strip()) for level in figures.levels if level.miss is not None]
        rate = figures.memory.rate if figures.memory else None
        return found if rate is None else [*found, (_MEMORY, f"{gigabytes(rate).strip()} GB/s")]

    def body(self, snapshot: Snapshot, cells: int, rows: int) -> Sequence[Line]:
        figures = self._figures
        if figures is None or not figures.kernels:
            return [line(Span(" nothing has run yet", Ink.DIM))]
        if not figures.levels and figures.memory is None:
            return [line(Span(" what this board counts now is not about caches: F4 chooses what it counts", Ink.DIM))]
        prefetched = any(level.prefetched is not None for level in figures.levels)
        head = f" {'':<6}{'accesses':>9}{'refills':>9}{'prefetch' if prefetched else '':>{10 * prefetched}}"
        head += f"{'miss':>9}{'MPKI':>8}{'latest':>9}"
        chart_rows = 1 if rows < 12 else 2 if rows < 24 else 3
        drawn = [line(Span(head, Ink.DIM), Span("  step by step →" if cells > len(head) + 18 else "", Ink.DIM))]
        for level in figures.levels:
            drawn += self._charted(_level(level, self._latest(level.name), prefetched), level.name, cells, chart_rows)
        if figures.memory is not None:
            text = f"{_traffic(figures.memory, self.limit):<{len(head)}}"
            drawn += self._charted(text, _MEMORY, cells, chart_rows)
        elif rows > 8:
            chosen = snapshot.hello is not None and _BUS_ACCESS_RD in snapshot.hello.counter_events
            why = "this board does not count it" if chosen else "not counted: F4 lets the counters count it"
            drawn.append(line(Span(f" memory  {why}", Ink.DIM)))
        room = rows - len(drawn) - 1
        return [*drawn, *_kernels(figures, cells, room)] if room > 0 else drawn

    def _latest(self, name: str) -> float | None:
        points = self._history.points[name] if self._history else ()
        return points[-1] if points else None

    def _charted(self, text: str, name: str, cells: int, rows: int) -> list[Line]:
        """A row of figures, with its own line of the latest steps on the right."""
        points = list(self._history.points[name]) if self._history else []
        room = cells - len(text) - 2 - _EDGE_CELLS
        shown = [point for point in points[-2 * max(0, room) :] if point is not None]
        if room < 4 or not shown:
            return [line(text)]
        peak = max(shown)
        if name == _MEMORY:
            top = float(self.limit) if self.limit and peak <= self.limit else nice_top(peak)
            edge = f"{top / 1e9:.3g} GB/s"
        else:
            top = nice_top(peak)
            edge = percent(top).strip()
        chart = history(points, room, rows, top)
        first = line(text, "  ", Span(chart[0], Ink.BAR), Span(f" {edge}", Ink.DIM))
        rest = [line(" " * (len(text) + 2), Span(row, Ink.BAR)) for row in chart[1:]]
        if rest:
            rest[-1] = (*rest[-1], Span(" 0", Ink.DIM))
        return [first, *rest]


def _level(level: LevelFigures, latest: float | None, prefetched: bool) -> str:
    text = f" {level.name:<6}{si(level.accesses):>9}{si(level.refills):>9}"
    text += f"{si(level.prefetched):>10}" if prefetched else ""
    return f"{text}{percent(level.miss):>9}{ratio(level.mpki):>8}{percent(latest):>9}"


def _traffic(memory: MemoryFigures, limit: int | None) -> str:
    """`9.82 read + 0.31 written = 10.13 GB/s, 73.4 % of 13.8`."""
    read, rate = gigabytes(memory.read_rate).strip(), memory.rate
    if memory.written is None:
        text = f" memory  {read} GB/s read, writes not counted"
    else:
        text = (
            f" memory  {read} read + {gigabytes(memory.written_rate).strip()} written = {gigabytes(rate).strip()} GB/s"
        )
    if limit and rate is not None:
        text += f", {percent(rate / limit).strip()} of {limit / 1e9:.3g}"
    return text


def _kernels(figures: CacheFigures, cells: int, room: int) -> list[Line]:
    """The kernels, with a column for what is counted of any."""
    rows = figures.kernels[:room]
    columns = [one for one in _COLUMNS if any(one.text(row).strip() != NONE for row in figures.kernels)]
    share = "memory" if figures.shared == _MEMORY else "refills" if figures.shared else ""
    head = f" {'kernel':<{_NAME_CELLS - 1}}" + "".join(f"{one.head:>{one.cells}}" for one in columns)
    head += f"  {share:>7}"
    drawn = [line(Span(head, Ink.DIM))]
    for row in rows:
        text = f" {row.name:<{_NAME_CELLS - 1}}" + "".join(f"{one.text(row):>{one.cells}}" for one in columns)
        part: Line = (Span(f"  {percent(row.share):>7} "), *bar(row.share, min(_BAR_MAX, cells - len(head) - 2)))
        drawn.append((Span(text), *part) if share else line(text))
    return drawn
