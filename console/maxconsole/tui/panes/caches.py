# SPDX-License-Identifier: Apache-2.0
"""Pane 2: cache accesses and misses, per level, per kernel and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import BindingType

from maxconsole.tui.actions import Where, bindings
from maxconsole.tui.drawing.bars import bar
from maxconsole.tui.drawing.braille import history, nice_top
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import percent, ratio, si
from maxconsole.tui.figures.choices import PhaseChoice
from maxconsole.tui.panes.pane import Pane

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot
    from maxconsole.tui.figures.caches import CacheFigures, KernelCaches, LevelFigures, MissHistory

_LEVEL_HEAD: Final = "       accesses  refills     miss   latest"
_LEVEL_CELLS: Final = len(_LEVEL_HEAD)
_KERNEL_HEAD: Final = f" {'kernel':<15}{'L1D acc':>9}{'L1D miss':>9}{'L2 miss':>9}{'MPKI':>8}  {'refills':>7}"


class CachePane(Pane):
    """Rates of each level with the line of the latest steps; below, which kernels cause the refills."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.CACHES), *bindings(Where.PANES)]
    WHERE = Where.CACHES
    NUMBER = "2"
    NAME = "Caches"

    phase = PhaseChoice.BOTH
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
        for level in self._figures.levels:
            if level.miss is not None:
                parts += [Span(f"{'  ' if parts else ''}{level.name} ", Ink.DIM), Span(percent(level.miss).strip())]
        return tuple(parts)

    def figure(self) -> str:
        miss = self._figures.levels[0].miss if self.snapshot and self._figures else None
        return "" if miss is None else f"L1D {percent(miss).strip()}"

    def body(self, snapshot: Snapshot, cells: int, rows: int) -> Sequence[Line]:
        figures = self._figures
        if figures is None or not figures.kernels:
            return [line(Span(" nothing has run yet", Ink.DIM))]
        if all(level.accesses is None for level in figures.levels):
            return [line(Span(" this board's counters are set to other events than cache accesses", Ink.DIM))]
        chart_rows = 1 if rows < 12 else 2 if rows < 24 else 3
        drawn = [
            line(Span(_LEVEL_HEAD, Ink.DIM), Span("  step by step →" if cells > _LEVEL_CELLS + 18 else "", Ink.DIM))
        ]
        for index, level in enumerate(figures.levels):
            drawn += self._level(level, index, cells, chart_rows)
        room = rows - len(drawn) - 1
        if room > 0:
            drawn.append(line(Span(_KERNEL_HEAD, Ink.DIM)))
            drawn += [_kernel(row, cells) for row in figures.kernels[:room]]
        return drawn

    def _level(self, level: LevelFigures, index: int, cells: int, rows: int) -> list[Line]:
        """A level's figures, with its own line of the latest steps on the right."""
        points = list(self._history.points[index]) if self._history else []
        now = points[-1] if points else None
        text = f" {level.name:<5}{si(level.accesses):>9}{si(level.refills):>9}{percent(level.miss):>9}{percent(now):>9}"
        room = cells - _LEVEL_CELLS - 2 - 8
        if room < 4 or not points:
            return [line(text), *[()] * (rows - 1)]
        shown = [point for point in points[-2 * room :] if point is not None]
        top = nice_top(max(shown, default=0.0))
        chart = history(points, room, rows, top)
        first = line(text, "  ", Span(chart[0], Ink.BAR), Span(f" {percent(top).strip()}", Ink.DIM))
        rest = [line(" " * (_LEVEL_CELLS + 2), Span(row, Ink.BAR)) for row in chart[1:]]
        if rest:
            rest[-1] = (*rest[-1], Span(" 0", Ink.DIM))
        return [first, *rest]


def _kernel(row: KernelCaches, cells: int) -> Line:
    l1d, l2 = row.levels
    text = f" {row.name:<15}{si(l1d.accesses):>9}{percent(l1d.miss):>9}{percent(l2.miss):>9}{ratio(row.mpki):>8}"
    left = line(text, f"  {percent(row.l1d_share):>7} ")
    return (*left, *bar(row.l1d_share, min(40, cells - len(_KERNEL_HEAD) - 2)))
