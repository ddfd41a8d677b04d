# SPDX-License-Identifier: Apache-2.0
"""Where the cycles went: one row a kernel, for one core or all, for one phase or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from maxconsole.schema import wire
from maxconsole.telemetry.bounds import MODEL_PORT_BOUND
from maxconsole.telemetry.kernels import KernelSums, KernelTable
from maxconsole.telemetry.npu import NpuSums
from maxconsole.telemetry.report import MAC_KERNELS, UNCOVERED, KernelRow, kernel_rows, ratio
from maxconsole.telemetry.snapshot import Snapshot, name_of
from maxconsole.tui.figures.choices import Order, PhaseChoice

#: Arm DDI 0487, "Common event numbers": cycles in which nothing was issued because the back end could take nothing.
STALL_BACKEND: Final = 0x24
#: int8 multiply-accumulates that a Cortex-A76 can do in a cycle: two SDOT of 16 (Arm Cortex-A76 Software Optimization

_PHASES: Final = {PhaseChoice.PREFILL: wire.Phase.PREFILL, PhaseChoice.DECODE: wire.Phase.DECODE}


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """One row of the table. Ratios are None where the board does not count what they need."""

    name: str
    count: int
    cycles: int
    share: float  # of all cycles shown, 0..1
    ipc: float | None
    macs_per_instruction: float | None  # None where the kernel does no multiply-accumulates
    macs_per_cycle: float | None
    l1d_miss: float | None  # refills per access, 0..1
    l2_miss: float | None
    stalled: float | None  # cycles in which the back end took nothing, 0..1
    bound: float | None  # cycles that the busiest pipe would need if nothing else held it up, 0..1


@dataclass(frozen=True, slots=True)
class NpuFigures:
    """One row of the NPU's jobs."""

    name: str
    jobs: int
    cycles: int
    share: float  # of the steps' time, 0..1
    macs_per_cycle: float | None


@dataclass(frozen=True, slots=True)
class KernelTotals:
    """The rows, and what they add up to."""

    rows: tuple[KernelFigures, ...]
    steps: int  # prefill batches and decode steps
    cycles: int
    ipc: float | None
    macs_per_instruction: float | None  # over the kernels that do any
    macs_per_cycle: float | None  # over all cycles
    npu: tuple[NpuFigures, ...] = ()


def kernel_totals(snapshot: Snapshot, choice: PhaseChoice, order: Order, core: int | None = None) -> KernelTotals:
    """The table for `choice` on one core, or on all of them, sorted by `order`."""
    table = of_phase(snapshot.kernels, choice, core)
    events = snapshot.hello.counter_events if snapshot.hello else ()
    found = kernel_rows(table, events) if core is None or sums_of_phase(table) else ()
    stalls, bounds = (_counted(table, events, event) for event in (STALL_BACKEND, MODEL_PORT_BOUND))
    rows = sorted((_figures(row, stalls.get(row.kernel), bounds.get(row.kernel)) for row in found), key=_KEYS[order])
    cycles = sum(row.cycles for row in found)
    instructions = sum(row.instructions for row in found)
    macs = sum(row.work for row in found if row.instructions_per_mac is not None)
    mac_instructions = sum(row.instructions for row in found if row.instructions_per_mac is not None)
    return KernelTotals(
        rows=tuple(rows),
        steps=table.sums(0, wire.Kernel.STEP).count,
        cycles=cycles,
        ipc=ratio(instructions, cycles) if instructions else None,
        macs_per_instruction=ratio(macs, mac_instructions),
        macs_per_cycle=ratio(macs, cycles) if macs else None,
        npu=() if core is not None else _npu_figures(snapshot, choice, table.sums(0, wire.Kernel.STEP).cycles),
    )


def _npu_figures(snapshot: Snapshot, choice: PhaseChoice, step_cycles: int) -> tuple[NpuFigures, ...]:
    """The NPU's jobs by kernel, the most cycles first."""
    wanted = _PHASES.get(choice)
    by_kernel: dict[int, NpuSums] = {}
    for (phase, kernel), sums in snapshot.npu.items():
        if wanted is None or phase == wanted:
            by_kernel[kernel] = by_kernel.get(kernel, NpuSums()) + sums
    rows = (
        NpuFigures(
            name=name_of(wire.Kernel, kernel) or "",
            jobs=one.jobs,
            cycles=one.cycles,
            share=one.cycles / step_cycles if step_cycles else 0.0,
            macs_per_cycle=ratio(one.macs, one.cycles),
        )
        for kernel, one in by_kernel.items()
    )
    return tuple(sorted(rows, key=lambda row: -row.cycles))


def of_phase(table: KernelTable, choice: PhaseChoice, core: int | None = None) -> KernelTable:
    """A table that holds one phase, or the sum of all, in the place of the first phase; of all cores, or of one, which
    takes the place of the first.

    The steps stay, because they take as long for every core; what was counted in them is the first one's.
    """
    phase = _PHASES.get(choice)
    values = np.zeros_like(table.values)
    values[0] = table.values.sum(axis=0) if phase is None else table.values[phase]
    if core is not None:
        step = values[0, 0, wire.Kernel.STEP].copy()
        step[2:] *= core == 0
        values[0, 0] = values[0, core]
        values[0, 0, wire.Kernel.STEP] = step
        values[0, 1:] = 0
    values.flags.writeable = False
    return KernelTable(values)


def sums_of_phase(table: KernelTable) -> dict[wire.Kernel, KernelSums]:
    """Totals over all cores of every kernel that ran, in a table that `of_phase` has made; the steps apart."""
    totals = table.values[0].sum(axis=0).tolist()
    ran = ((kernel, totals[kernel]) for kernel in wire.Kernel if kernel != wire.Kernel.STEP and totals[kernel][0])
    return {
        kernel: KernelSums(count, cycles, instructions, work, tuple(counters))
        for kernel, (count, cycles, instructions, work, *counters) in ran
    }


def _counted(table: KernelTable, events: Sequence[int], event: int) -> dict[str, int]:
    """How often each kernel had this event, by its name; nothing where the board does not count it."""
    if event not in events:
        return {}
    slot = events.index(event)
    found = {kernel.name.lower(): one.counters[slot] for kernel, one in sums_of_phase(table).items()}
    return found if any(found.values()) else {}


def _figures(row: KernelRow, stalls: int | None, bound: int | None) -> KernelFigures:
    has_macs = _KERNELS.get(row.kernel) in MAC_KERNELS
    return KernelFigures(
        name=row.kernel,
        count=row.count,
        cycles=row.cycles,
        share=row.share,
        ipc=row.ipc,
        macs_per_instruction=ratio(row.work, row.instructions) if has_macs else None,
        macs_per_cycle=ratio(row.work, row.cycles) if has_macs else None,
        l1d_miss=row.l1d_refill,
        l2_miss=row.l2_refill,
        stalled=ratio(stalls, row.cycles),
        bound=ratio(bound, row.cycles),
    )


_KERNELS: Final = {kernel.name.lower(): kernel for kernel in wire.Kernel}


def _by_execution(row: KernelFigures) -> tuple[float, ...]:
    return (len(_KERNELS) if row.name == UNCOVERED else _KERNELS[row.name],)


_KEYS: Final[dict[Order, Callable[[KernelFigures], tuple[float, ...]]]] = {
    Order.SHARE: lambda row: (-row.cycles,),
    Order.EXECUTION: _by_execution,
    Order.IPC: lambda row: (-(row.ipc or 0.0), -row.cycles),
}
