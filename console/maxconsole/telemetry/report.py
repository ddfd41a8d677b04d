# SPDX-License-Identifier: Apache-2.0
"""Shares, IPC and miss rates of the kernels, from totals and from what the six counters count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from maxconsole.schema import wire
from maxconsole.telemetry.kernels import KernelSums, KernelTable

#: Event numbers of the Armv8 PMU: Arm DDI 0487, "Common event numbers".
L1D_CACHE_REFILL: Final = 0x03
L1D_CACHE: Final = 0x04
L2D_CACHE: Final = 0x16
L2D_CACHE_REFILL: Final = 0x17

#: Kernels whose `work` is multiply-accumulates; for the others it is elements.
MAC_KERNELS: Final = frozenset(
    {
        wire.Kernel.LINEAR_Q,
        wire.Kernel.LINEAR_K,
        wire.Kernel.LINEAR_V,
        wire.Kernel.LINEAR_O,
        wire.Kernel.LINEAR_GATE,
        wire.Kernel.LINEAR_UP,
        wire.Kernel.LINEAR_DOWN,
        wire.Kernel.ATTENTION,
        wire.Kernel.HEAD,
    }
)

#: The row for cycles of a step that no kernel's span covers.
UNCOVERED: Final = "between kernels"


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel in one phase, over all cores. Ratios are None where the board does not count what they need."""

    phase: str
    kernel: str
    count: int
    cycles: int
    core_cycles: tuple[int, ...]  # of each core, up to the last one that ran anything
    share: float  # of the cycles of the phase on all cores, 0..1
    instructions: int
    work: int
    ipc: float | None
    l1d_refill: float | None  # refills per access, 0..1
    l2_refill: float | None
    instructions_per_mac: float | None
    counters: dict[str, int]  # by PMU event number, 0x..


def kernel_rows(table: KernelTable, counter_events: Sequence[int]) -> tuple[KernelRow, ...]:
    """The kernels that ran, by phase and then by cycles, the most first.

    `counter_events` are the PMU event numbers behind the counters, as HELLO gives them. The steps that enclose the
    kernels are not rows; they are core 0's, and what of their cycles none of its kernels accounts for is the row
    UNCOVERED.
    """
    slots = {event: slot for slot, event in reversed(list(enumerate(counter_events))) if event}
    cores = 1 + max((core for _, core, _ in table.cells()), default=0)
    kernels = [kernel for kernel in wire.Kernel if kernel != wire.Kernel.STEP]
    rows: list[KernelRow] = []
    for phase in wire.Phase:
        cycles = [tuple(of_cores[:cores]) for of_cores in table.core_cycles(phase)]
        rest = cycles[wire.Kernel.STEP][0] - sum(cycles[kernel][0] for kernel in kernels)
        total = sum(sum(cycles[kernel]) for kernel in kernels) + max(0, rest)
        found = [
            _row((phase, kernel), one, cycles[kernel], total, slots)
            for kernel in kernels
            if (one := table.sums(phase, kernel)).count
        ]
        rows += sorted(found, key=lambda row: -row.cycles)
        if rest > 0:
            rows.append(_uncovered(table, phase, rest, total, cores))
    return tuple(rows)


def _row(
    place: tuple[wire.Phase, wire.Kernel],
    sums: KernelSums,
    core_cycles: tuple[int, ...],
    total: int,
    slots: dict[int, int],
) -> KernelRow:
    phase, kernel = place

    def counted(event: int) -> int | None:
        slot = slots.get(event)
        return None if slot is None else sums.counters[slot]

    return KernelRow(
        phase=phase.name.lower(),
        kernel=kernel.name.lower(),
        count=sums.count,
        cycles=sums.cycles,
        core_cycles=core_cycles,
        share=ratio(sums.cycles, total) or 0.0,
        instructions=sums.instructions,
        work=sums.work,
        ipc=ratio(sums.instructions or None, sums.cycles),
        l1d_refill=ratio(counted(L1D_CACHE_REFILL), counted(L1D_CACHE)),
        l2_refill=ratio(counted(L2D_CACHE_REFILL), counted(L2D_CACHE)),
        instructions_per_mac=ratio(sums.instructions or None, sums.work) if kernel in MAC_KERNELS else None,
        counters={f"{event:#04x}": sums.counters[slot] for event, slot in slots.items()},
    )


def _uncovered(table: KernelTable, phase: wire.Phase, cycles: int, total: int, cores: int) -> KernelRow:
    step = table.sums(phase, wire.Kernel.STEP)
    covered = (table.sums(phase, kernel, 0).instructions for kernel in wire.Kernel if kernel != wire.Kernel.STEP)
    instructions = max(0, step.instructions - sum(covered))
    return KernelRow(
        phase=phase.name.lower(),
        kernel=UNCOVERED,
        count=step.count,
        cycles=cycles,
        core_cycles=(cycles, *(0,) * (cores - 1)),
        share=cycles / total,
        instructions=instructions,
        work=0,
        ipc=ratio(instructions or None, cycles),
        l1d_refill=None,
        l2_refill=None,
        instructions_per_mac=None,
        counters={},
    )


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole, or None when either is unknown or there is no whole."""
    return None if part is None or not whole else part / whole
