# SPDX-License-Identifier: Apache-2.0
"""Pane 1: where the cycles go, kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.binding import BindingType

from maxconsole.tui.actions import Where, bindings
from maxconsole.tui.drawing.bars import bar
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import NONE, percent, ratio, si, time_of_cycles
from maxconsole.tui.figures.choices import Order, PhaseChoice
from maxconsole.tui.panes.pane import Pane

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot
    from maxconsole.tui.figures.kernels import KernelFigures, KernelTotals, NpuFigures

_NAME_CELLS: Final = 16
_BAR_MIN: Final = 6
_BAR_MAX: Final = 40


@dataclass(frozen=True, slots=True)
class Column:
    """`cells` includes the gap on the left. Columns of a higher `rank` are the first to go where room is short."""

    head: str
    cells: int
    rank: int
    text: Callable[[KernelFigures, int], str]


_COLUMNS: Final = (
    Column("count", 8, 0, lambda row, _hz: si(row.count)),
    Column("cycles", 8, 0, lambda row, _hz: si(row.cycles)),
    Column("time", 10, 5, lambda row, hz: time_of_cycles(row.cycles, hz)),
    Column("per call", 10, 7, lambda row, hz: time_of_cycles(row.cycles / max(1, row.count), hz)),
    Column("share", 8, 0, lambda row, _hz: percent(row.share)),
    Column("IPC", 6, 0, lambda row, _hz: ratio(row.ipc)),
    Column("MAC/in", 8, 1, lambda row, _hz: ratio(row.macs_per_instruction)),
    Column("MAC/cy", 8, 4, lambda row, _hz: ratio(row.macs_per_cycle)),
    Column("stall", 8, 6, lambda row, _hz: percent(row.stalled)),
    Column("bound", 8, 2, lambda row, _hz: percent(row.bound)),
    Column("L1D miss", 9, 2, lambda row, _hz: percent(row.l1d_miss)),
    Column("L2 miss", 9, 3, lambda row, _hz: percent(row.l2_miss)),
)  # fmt: skip


class KernelPane(Pane):
    """Count, cycles, share and a bar of it, instructions per cycle, multiply-accumulates per instruction, misses."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.KERNELS), *bindings(Where.PANES)]
    WHERE = Where.KERNELS
    NUMBER = "1"
    NAME = "Kernels"

    phase = PhaseChoice.BOTH
    order = Order.SHARE
    core: int | None = None  # None: all of them together
    _totals: KernelTotals | None = None
    _top = 0

    def digest(self, snapshot: Snapshot) -> None:
        from maxconsole.tui.figures.kernels import kernel_totals  # noqa: PLC0415  numpy would delay the first paint

        self._totals = kernel_totals(snapshot, self.phase, self.order, self.core)

    def next_phase(self) -> None:
        """Both phases, prefill alone, decode alone."""
        self.phase = self.phase.following
        self._again()

    def next_order(self) -> None:
        """By share, by order of execution, by IPC."""
        self.order = self.order.following
        self._again()

    def next_core(self) -> None:
        """All cores together, then each of the board's alone."""
        hello = self.snapshot.hello if self.snapshot else None
        following = 0 if self.core is None else self.core + 1
        self.core = following if hello is not None and following < hello.cores else None
        self._again()

    def _again(self) -> None:
        if self.snapshot is not None:
            self.digest(self.snapshot)
        self.redraw()

    def note(self) -> Line:
        core = "" if self.core is None else f"core {self.core}, "
        return line(Span(f"{core}{self.phase}, {self.origin}", Ink.DIM)) if self.snapshot else ()

    def headline(self) -> Line:
        totals = self._totals
        if self.snapshot is None or totals is None or not totals.rows:
            return ()
        return line(si(totals.cycles).strip(), Span(" cycles  IPC ", Ink.DIM), ratio(totals.ipc).strip())

    def figure(self) -> str:
        totals = self._totals
        return f"IPC {ratio(totals.ipc).strip()}" if self.snapshot and totals and totals.rows else ""

    def body(self, snapshot: Snapshot, cells: int, rows: int) -> Sequence[Line]:
        totals = self._totals
        if totals is None or not totals.rows:
            where = "" if self.core is None else f" on core {self.core}"
            return [line(Span(f" nothing has run{where} yet: type a question and press Enter", Ink.DIM))]
        columns, bar_cells = choose_columns(cells, totals.rows)
        hertz = snapshot.hello.counter_hz if snapshot.hello else 0
        room = max(1, rows - 1 - (rows > 4))
        peak = max(row.share for row in totals.rows)
        every = [_row(row, columns, bar_cells, peak, hertz) for row in totals.rows]
        every += [_npu_row(row, columns, bar_cells, hertz) for row in totals.npu]
        self._top = max(0, min(self._top, len(every) - room))
        shown = every[self._top : self._top + room]
        drawn = [_head(columns, bar_cells, self.order), *shown]
        if rows > 4:
            drawn.append(_sum_row(totals, columns, bar_cells, hertz, hidden=len(every) - len(shown)))
        return drawn

    def key_up(self) -> None:
        self._scroll(-1)

    def key_down(self) -> None:
        self._scroll(1)

    def on_mouse_scroll_down(self, _event: events.MouseScrollDown) -> None:
        self._scroll(1)

    def on_mouse_scroll_up(self, _event: events.MouseScrollUp) -> None:
        self._scroll(-1)

    def _scroll(self, rows: int) -> None:
        self._top = max(0, self._top + rows)
        self.redraw()


def choose_columns(cells: int, rows: Sequence[KernelFigures]) -> tuple[list[Column], int]:
    """The columns that fit beside a bar, and the bar's cells. What the board counts for no row needs no column."""
    columns = [one for one in _COLUMNS if one.rank == 0 or any(one.text(row, 1).strip() != NONE for row in rows)]
    while columns and _NAME_CELLS + sum(column.cells for column in columns) + 2 + _BAR_MIN > cells:
        worst = max(columns, key=lambda column: column.rank)
        if worst.rank == 0:
            break
        columns.remove(worst)
    left = cells - _NAME_CELLS - sum(column.cells for column in columns) - 2
    return columns, max(0, min(_BAR_MAX, left))


def _head(columns: Sequence[Column], bar_cells: int, order: Order) -> Line:
    parts = [Span(f" {'kernel':<{_NAME_CELLS - 1}}", Ink.DIM)]
    for column in columns:
        marked = {Order.SHARE: "share", Order.IPC: "IPC"}.get(order) == column.head
        parts.append(Span(f"{'▾' + column.head if marked else column.head:>{column.cells}}", Ink.DIM))
        if column.head == "share":
            parts.append(Span(" " * (bar_cells + 1)))
    return tuple(parts)


def _row(row: KernelFigures, columns: Sequence[Column], bar_cells: int, peak: float, hertz: int) -> Line:
    parts = [Span(f" {row.name:<{_NAME_CELLS - 1}}"[:_NAME_CELLS])]
    for column in columns:
        parts.append(_cell(column, row, hertz))
        if column.head == "share":
            parts += [Span(" "), *bar(row.share / peak if peak else 0, bar_cells)]
    return tuple(parts)


def _npu_row(row: NpuFigures, columns: Sequence[Column], bar_cells: int, hertz: int) -> Line:
    """Jobs, their cycles, and how much of the steps' time the NPU was at it."""
    texts = {
        "count": si(row.jobs),
        "cycles": si(row.cycles),
        "time": time_of_cycles(row.cycles, hertz),
        "per call": time_of_cycles(row.cycles / max(1, row.jobs), hertz),
        "share": percent(row.share),
        "MAC/cy": ratio(row.macs_per_cycle),
    }
    parts = [Span(f" {'NPU ' + row.name:<{_NAME_CELLS - 1}}"[:_NAME_CELLS], Ink.ACCENT)]
    for column in columns:
        parts.append(Span(f"{texts.get(column.head, ''):>{column.cells}}"))
        if column.head == "share":
            parts += [Span(" "), *bar(min(1.0, row.share), bar_cells)]
    return tuple(parts)


def _cell(column: Column, row: KernelFigures, hertz: int) -> Span:
    text = column.text(row, hertz)
    return Span(f"{text:>{column.cells}}", Ink.DIM if text.strip() in {"-", "0 %", "0"} else Ink.PLAIN)


def _sum_row(totals: KernelTotals, columns: Sequence[Column], bar_cells: int, hertz: int, *, hidden: int) -> Line:
    texts = {
        "count": f"{si(totals.steps)}",
        "cycles": si(totals.cycles),
        "time": time_of_cycles(totals.cycles, hertz),
        "IPC": ratio(totals.ipc),
        "MAC/in": ratio(totals.macs_per_instruction),
        "MAC/cy": ratio(totals.macs_per_cycle),
    }
    parts = [Span(f" {'all, in steps':<{_NAME_CELLS - 1}}", Ink.STRONG)]
    for column in columns:
        parts.append(Span(f"{texts.get(column.head, ''):>{column.cells}}", Ink.STRONG))
        if column.head == "share":
            more = f"+{hidden} ↓" if hidden else ""
            parts.append(Span(f" {more:<{bar_cells}}", Ink.DIM))
    return tuple(parts)
