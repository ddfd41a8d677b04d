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

    def sums(self, phase: int, kernel: int, core: int | None = None) -> KernelSums:
        """One kernel in one phase, on one core or on all of them."""
        cell = self.values[phase, :, kernel].sum(axis=0) if core is None else self.values[phase, core, kernel]
        count, cycles, instructions, work, *counters = (int(value) for value in cell)
        return KernelSums(count, cycles, instructions, work, tuple(counters))

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

    def add_events(self, payloads: Sequence[bytes]) -> None:
        """Folds the payloads of KERNELS frames; each must be whole KernelEvent records."""
        records = np.frombuffer(b"".join(payloads), wire.KernelEvent.DTYPE)
        if not len(records):
            return
        self.events += len(records)
        cells, records = self._cells(records)
        order = np.argsort(cells, kind="stable")  # radix sort: the cells are 16-bit numbers
        cells = cells[order]
        starts = np.flatnonzero(np.r_[True, cells[1:] != cells[:-1]])[: len(cells)]
        values = _values_of(records)[order]
        self._since[cells[starts]] += np.add.reduceat(values, starts, axis=0)[: len(starts)]

    def add_totals(self, payload: bytes) -> None:
        """Takes over the payload of a TOTALS frame, whole KernelTotal records, after the events before it."""
        cells, records = self._cells(np.frombuffer(payload, wire.KernelTotal.DTYPE))
        self._base[cells] = _values_of(records)
        self._since[cells] = 0

    def table(self) -> KernelTable:
        """The totals as they are now."""
        return _frozen((self._base + self._since).reshape(_SHAPE))

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
