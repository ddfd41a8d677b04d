# SPDX-License-Identifier: Apache-2.0
"""Cache accesses and refills, per level and per kernel, and how the miss rate went from step to step."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from maxconsole.schema import wire
from maxconsole.telemetry.kernels import KernelSums, KernelTable
from maxconsole.telemetry.report import L1D_CACHE, L1D_CACHE_REFILL, L2D_CACHE, L2D_CACHE_REFILL, ratio
from maxconsole.telemetry.snapshot import Snapshot
from maxconsole.tui.figures.choices import PhaseChoice
from maxconsole.tui.figures.kernels import of_phase, sums_of_phase

#: The data caches of a Cortex-A76, each with the PMU events that count its accesses and refills.
LEVELS: Final = (("L1D", L1D_CACHE, L1D_CACHE_REFILL), ("L2", L2D_CACHE, L2D_CACHE_REFILL))
_HISTORY: Final = 1024


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """One cache level. None where the board does not count it."""

    name: str
    accesses: int | None
    refills: int | None

    @property
    def miss(self) -> float | None:
        return ratio(self.refills, self.accesses)


@dataclass(frozen=True, slots=True)
class KernelCaches:
    """One kernel. `mpki` is L2 refills per thousand instructions."""

    name: str
    levels: tuple[LevelFigures, ...]
    l1d_share: float  # of all L1D refills, 0..1
    mpki: float | None


@dataclass(frozen=True, slots=True)
class CacheFigures:
    """Levels over everything that ran, and the kernels with the most L1D refills first."""

    levels: tuple[LevelFigures, ...]
    kernels: tuple[KernelCaches, ...]


def cache_figures(snapshot: Snapshot, choice: PhaseChoice) -> CacheFigures:
    """The figures of one phase, or of both."""
    events = _slots(snapshot)
    table = of_phase(snapshot.kernels, choice)
    ran = sums_of_phase(table)
    total = _levels(ran.values(), events)
    refills = total[0].refills or 0
    rows = []
    for kernel, one in ran.items():
        levels = _levels([one], events)
        misses = levels[1].refills
        mpki = None if misses is None or not one.instructions else 1000 * misses / one.instructions
        rows.append(KernelCaches(kernel.name.lower(), levels, (levels[0].refills or 0) / max(1, refills), mpki))
    rows.sort(key=lambda row: -(row.levels[0].refills or 0))
    return CacheFigures(total, tuple(rows))


class MissHistory:
    """Miss rates per level of the steps that ended between one Snapshot and the next: a point for each time any did."""

    def __init__(self) -> None:
        self.points: tuple[deque[float | None], ...] = tuple(deque(maxlen=_HISTORY) for _ in LEVELS)
        self._last: KernelTable | None = None

    def add(self, snapshot: Snapshot) -> None:
        """Takes the next Snapshot. A board that has been reset starts a new line after a gap."""
        table, last = snapshot.kernels, self._last
        if last is None or _steps(table) < _steps(last):
            if last is not None:
                for points in self.points:
                    points.append(None)
            self._last = table
            return
        if _steps(table) == _steps(last):
            return
        since = of_phase(table - last, PhaseChoice.BOTH)
        levels = _levels(sums_of_phase(since).values(), _slots(snapshot))
        for points, level in zip(self.points, levels, strict=True):
            points.append(level.miss)
        self._last = table

    @property
    def latest(self) -> tuple[float | None, ...]:
        """The newest point of each level."""
        return tuple(points[-1] if points else None for points in self.points)


def _steps(table: KernelTable) -> int:
    return sum(table.sums(phase, wire.Kernel.STEP).count for phase in wire.Phase)


def _slots(snapshot: Snapshot) -> dict[int, int]:
    events: Sequence[int] = snapshot.hello.counter_events if snapshot.hello else ()
    return {event: slot for slot, event in reversed(list(enumerate(events))) if event}


def _levels(sums: Collection[KernelSums], slots: dict[int, int]) -> tuple[LevelFigures, ...]:
    def counted(event: int) -> int | None:
        return None if event not in slots else sum(one.counters[slots[event]] for one in sums)

    return tuple(LevelFigures(name, counted(accesses), counted(refills)) for name, accesses, refills in LEVELS)
