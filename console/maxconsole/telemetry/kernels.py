# SPDX-License-Identifier: Apache-2.0
"""Cycle and event totals by phase, core and kernel, summed exactly in 64-bit integers, many events at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.schema import wire

PHASES: Final = len(wire.Phase)
KERNELS: Final = len(wire.Kernel)
#: Values kept for each (phase, core, kernel): count, cycles, instructions, work, then the six counters.
_COUNTERS_FROM: Final = 4
_COLUMNS: Final = _COUNTERS_FROM + wire.COUNTERS
_SHAPE: Final = (PHASES, wire.CORES_MAX, KERNELS, _COLUMNS)

#: Events are folded in runs of this size, because a run costs some 50 us whatever its length.
_PENDING_MAX_BYTES: Final = 1 << 18

_Values = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class KernelSums:
    """Totals of one kernel. `work` is multiply-accumulates, or elements where the kernel does none."""

    count: int
    cycles: int
    instructions: int
    work: int
    counters: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class KernelTable:
    """Totals of all kernels at one moment. `values[phase, core, kernel]` holds ten u64 and is read-only."""

    values: _Values

    def __sub__(self, earlier: KernelTable) -> KernelTable:
        """What was added since `earlier`."""
        return _frozen(self.values - earlier.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelTable) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def sums(self, phase: int, kernel: int, core: int | None = None) -> KernelSums:
        """One kernel in one phase, on one core or on all of them."""
        cell = self.values[phase, :, kernel].sum(axis=0) if core is None else self.values[phase, core, kernel]
        count, cycles, instructions, work, *counters = (int(value) for value in cell)
        return KernelSums(count, cycles, instructions, work, tuple(counters))

    def core_cycles(self, phase: int) -> list[list[int]]:
        """[kernel][core]: the cycles of one phase."""
        cycles: list[list[int]] = self.values[phase, :, :, 1].T.tolist()
        return cycles

    def cells(self) -> Sequence[tuple[int, int, int]]:
        """(phase, core, kernel) of everything that ran at all."""
        return [(int(p), int(c), int(k)) for p, c, k in np.argwhere(self.values[..., 0])]


def empty_table() -> KernelTable:
    """The table of a board on which nothing has run."""
    return _frozen(np.zeros(_SHAPE, np.uint64))


class KernelFold:
    """Sums events, and takes the board's own totals over whenever they arrive.

    The board's totals include events that it could not send, so a cell is the last total that arrived for it plus the
    events that came after that. Without a single TOTALS message it is the sum of the events.
    """

    def __init__(self) -> None:
        self.events = 0  # folded
        self.invalid_records = 0  # with a kernel, phase or core that this console does not know
        self._base = np.zeros(_SHAPE, np.uint64).reshape(-1, _COLUMNS)
        self._since = np.zeros_like(self._base)
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def add_events(self, payload: bytes) -> None:
        """Takes the payload of a KERNELS frame, whole KernelEvent records. They are folded when enough have come."""
        self.events += len(payload) // wire.KernelEvent.SIZE
        self._pending.append(payload)
        self._pending_bytes += len(payload)
        if self._pending_bytes >= _PENDING_MAX_BYTES:
            self._settle()

    def add_totals(self, payload: bytes) -> None:
        """Takes over the payload of a TOTALS frame, whole KernelTotal records."""
        self._settle()
        if payload:
            cells, records = self._cells(np.frombuffer(payload, wire.KernelTotal.DTYPE))
            self._base[cells] = _values_of(records)
            self._since[cells] = 0

    def restart(self) -> None:
        """Forgets all totals; what was folded stays counted."""
        self._settle()
        self._base[:] = 0
        self._since[:] = 0

    def table(self) -> KernelTable:
        """The totals as they are now."""
        self._settle()
        return _frozen((self._base + self._since).reshape(_SHAPE))

    def _settle(self) -> None:
        """Folds what is pending: sorts the records by cell and adds up every run."""
        data = b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        if not data:
            return
        cells, records = self._cells(np.frombuffer(data, wire.KernelEvent.DTYPE))
        if not len(cells):
            return
        order = np.argsort(cells, kind="stable")  # radix sort: the cells are 16-bit numbers
        cells = cells[order]
        first = np.ones(len(cells), np.bool_)
        np.not_equal(cells[1:], cells[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        self._since[cells[starts]] += np.add.reduceat(_values_of(records)[order], starts, axis=0)

    def _cells(self, records: npt.NDArray[np.void]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.void]]:
        """Row numbers of the records, and the records themselves, without those outside the table."""
        phase, core, kernel = records["phase"], records["core"], records["kernel"]
        valid = (phase < PHASES) & (core < wire.CORES_MAX) & (kernel < KERNELS)
        if not valid.all():
            self.invalid_records += int(len(records) - np.count_nonzero(valid))
            records = records[valid]
            phase, core, kernel = records["phase"], records["core"], records["kernel"]
        row = phase.astype(np.uint16) * wire.CORES_MAX + core
        return row * KERNELS + kernel, records


def _values_of(records: npt.NDArray[np.void]) -> _Values:
    values = np.empty((len(records), _COLUMNS), np.uint64)
    values[:, 0] = records["count"] if "count" in (records.dtype.names or ()) else 1
    values[:, 1] = records["cycles"]
    values[:, 2] = records["instructions"]
    values[:, 3] = records["work"]
    values[:, _COUNTERS_FROM:] = records["counters"]
    return values


def _frozen(values: _Values) -> KernelTable:
    values.flags.writeable = False
    return KernelTable(values)
