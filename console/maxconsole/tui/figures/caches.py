# SPDX-License-Identifier: Apache-2.0
"""Cache accesses and refills, memory traffic, per level and per kernel, and how they went from step to step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from maxconsole.schema import wire
from maxconsole.telemetry.kernels import KernelSums, KernelTable
from maxconsole.telemetry.report import L1D_CACHE, L1D_CACHE_REFILL, L2D_CACHE, L2D_CACHE_REFILL, ratio
from maxconsole.telemetry.snapshot import Snapshot
from maxconsole.tui.figures.choices import PhaseChoice
from maxconsole.tui.figures.kernels import of_phase, sums_of_phase

#: Levels of a Cortex-A76, each with the PMU events of its accesses and of what it did not have (Arm DDI 0487, "Common
#: event numbers"). None where no event counts it.
LEVELS: Final[tuple[tuple[str, int | None, int], ...]] = (
    ("L1D", L1D_CACHE, L1D_CACHE_REFILL),
    ("L2", L2D_CACHE, L2D_CACHE_REFILL),
    ("L3", 0x2B, 0x2A),
    ("L1I", None, 0x01),
    ("TLB 1", 0x25, 0x05),
    ("TLB 2", None, 0x2D),
    ("walks", None, 0x34),
)
MEMORY: Final = "memory"
BUS_ACCESS_RD: Final = 0x60
BUS_ACCESS_WR: Final = 0x61
#: Bytes of what BUS_ACCESS counts, a beat of the interconnect, and of a line (Cortex-A76 TRM, A4.1 and A6.1).
_BEAT: Final = 16
_LINE: Final = 64
_HISTORY: Final = 1024

#: How often an event was counted; None for one that is not.
_Counted = Callable[[int | None], int | None]


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """One level. None where the board does not count it. `prefetched` are lines that nobody had asked for yet."""

    name: str
    accesses: int | None
    refills: int | None
    instructions: int
    prefetched: int | None = None

    @property
    def counted(self) -> bool:
        return self.accesses is not None or self.refills is not None

    @property
    def miss(self) -> float | None:
        return ratio(self.refills, self.accesses)

    @property
    def mpki(self) -> float | None:
        """Refills per thousand instructions."""
        return None if self.refills is None else ratio(1000 * self.refills, self.instructions)


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """What went through a core's connection to L3 and memory, in bytes; `seconds` on the board's clock."""

    read: int
    written: int | None
    seconds: float | None

    @property
    def read_rate(self) -> float | None:
        return ratio(self.read, self.seconds)

    @property
    def written_rate(self) -> float | None:
        return None if self.written is None else ratio(self.written, self.seconds)

    @property
    def rate(self) -> float | None:
        """Bytes per second of what is counted."""
        return ratio(self.read + (self.written or 0), self.seconds)


@dataclass(frozen=True, slots=True)
class KernelCaches:
    """One kernel: its levels by name, its part of what `CacheFigures.shared` says, and its memory traffic."""

    name: str
    levels: Mapping[str, LevelFigures]
    share: float  # 0..1
    memory: MemoryFigures | None  # its seconds are those of all cores, one after the other


@dataclass(frozen=True, slots=True)
class CacheFigures:
    """What is counted, over everything that ran, and the kernels, those with the greatest share first.

    `shared` is what their shares are of: a level's refills, or memory traffic. `memory` is None where it is not
    counted.
    """

    levels: tuple[LevelFigures, ...]
    memory: MemoryFigures | None
    kernels: tuple[KernelCaches, ...]
    shared: str


def cache_figures(snapshot: Snapshot, choice: PhaseChoice) -> CacheFigures:
    """The figures of one phase, or of both."""
    slots, hertz = _slots(snapshot), _hertz(snapshot)
    table = of_phase(snapshot.kernels, choice)
    ran = sums_of_phase(table)
    total = _levels(ran.values(), slots)
    memory = _memory(ran.values(), slots, _seconds(table, hertz))
    first = next((level.name for level in total if level.refills is not None), "")
    shared = MEMORY if memory is not None else first
    rows = []
    for kernel, one in ran.items():
        levels = {level.name: level for level in _levels([one], slots)}
        traffic = _memory([one], slots, one.cycles / hertz if hertz else None)
        part, whole = traffic.read if traffic else 0, memory.read if memory else 0
        if shared != MEMORY and shared:
            part = levels[shared].refills or 0
            whole = next(level.refills or 0 for level in total if level.name == shared)
        rows.append(KernelCaches(kernel.name.lower(), levels, part / max(1, whole), traffic))
    rows.sort(key=lambda row: -row.share)
    return CacheFigures(tuple(level for level in total if level.counted), memory, tuple(rows), shared)


class MissHistory:
    """Miss rates per level, and bytes per second of the memory, step by step.

    A point is added when any steps have ended between one Snapshot and the next. Other events begin a new history.
    """

    def __init__(self) -> None:
        self.points: dict[str, deque[float | None]] = {}
        self._last: KernelTable | None = None
        self._restart(())

    def _restart(self, events: Sequence[int]) -> None:
        self.points = {name: deque(maxlen=_HISTORY) for name in (*(name for name, _, _ in LEVELS), MEMORY)}
        self._events = events

    def add(self, snapshot: Snapshot) -> None:
        """Takes the next Snapshot. A board that has been reset starts a new line after a gap."""
        table, last = snapshot.kernels, self._last
        events = snapshot.hello.counter_events if snapshot.hello else ()
        if events != self._events:
            self._restart(events)
            last = None
        if last is None or _steps(table) < _steps(last):
            if last is not None:
                for points in self.points.values():
                    points.append(None)
            self._last = table
            return
        if _steps(table) == _steps(last):
            return
        since = of_phase(table - last, PhaseChoice.BOTH)
        sums, slots = sums_of_phase(since).values(), _slots(snapshot)
        memory = _memory(sums, slots, _seconds(since, _hertz(snapshot)))
        for level in _levels(sums, slots):
            self.points[level.name].append(level.miss)
        self.points[MEMORY].append(memory.rate if memory else None)
        self._last = table


def _steps(table: KernelTable) -> int:
    return sum(table.sums(phase, wire.Kernel.STEP).count for phase in wire.Phase)


def _seconds(table: KernelTable, hertz: int) -> float | None:
    """How long the steps took, in a table that `of_phase` has made."""
    cycles = table.sums(0, wire.Kernel.STEP).cycles
    return cycles / hertz if cycles and hertz else None


def _hertz(snapshot: Snapshot) -> int:
    return snapshot.hello.counter_hz if snapshot.hello else 0


def _slots(snapshot: Snapshot) -> dict[int, int]:
    """Counter by event. One that has never counted anything counts what this board does not have."""
    events = snapshot.hello.counter_events if snapshot.hello else ()
    ever = snapshot.kernels.values[..., -wire.COUNTERS :].max(axis=(0, 1, 2)).tolist()
    return {event: slot for slot, event in reversed(list(enumerate(events))) if event and ever[slot]}


def _counter(sums: Collection[KernelSums], slots: Mapping[int, int]) -> _Counted:
    def counted(event: int | None) -> int | None:
        slot = None if event is None else slots.get(event)
        return None if slot is None else sum(one.counters[slot] for one in sums)

    return counted


def _levels(sums: Collection[KernelSums], slots: Mapping[int, int]) -> tuple[LevelFigures, ...]:
    counted = _counter(sums, slots)
    instructions = sum(one.instructions for one in sums)
    return tuple(
        LevelFigures(
            name=name,
            accesses=counted(accesses),
            refills=counted(refills),
            instructions=instructions,
            prefetched=_prefetched(counted) if name == "L2" else None,
        )
        for name, accesses, refills in LEVELS
    )


def _prefetched(counted: _Counted) -> int | None:
    """Lines that L2 got from below, without those that were demanded: L2D_CACHE_REFILL leaves prefetches out."""
    beats, demanded = counted(BUS_ACCESS_RD), counted(L2D_CACHE_REFILL)
    if beats is None or demanded is None:
        return None
    prefetched = beats * _BEAT // _LINE - demanded
    return prefetched if prefetched >= 0 else None  # the two events do not count the same: better none than a wrong one


def _memory(sums: Collection[KernelSums], slots: Mapping[int, int], seconds: float | None) -> MemoryFigures | None:
    counted = _counter(sums, slots)
    read, written = counted(BUS_ACCESS_RD), counted(BUS_ACCESS_WR)
    if read is None:
        return None
    return MemoryFigures(read * _BEAT, None if written is None else written * _BEAT, seconds)
