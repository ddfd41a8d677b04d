# SPDX-License-Identifier: Apache-2.0
"""What the NPU did: totals of its jobs, and how far its work and that of the cores ran side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.schema import wire
from maxconsole.telemetry.steps import StepTrace

#: Kernels that are no work.
IDLE: Final = (wire.Kernel.WAIT, wire.Kernel.NPU_WAIT)

_Records = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class NpuSums:
    """Totals of one kernel's jobs: `cycles` from begin to end, of which the multiply-accumulates need `mac_cycles`."""

    jobs: int = 0
    cycles: int = 0
    macs: int = 0
    bytes: int = 0
    mac_cycles: int = 0

    def __add__(self, other: NpuSums) -> NpuSums:
        return NpuSums(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def __sub__(self, other: NpuSums) -> NpuSums:
        return NpuSums(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))


#: By (phase, kernel).
NpuTable = Mapping[tuple[int, int], NpuSums]


class NpuFold:
    """Sums the jobs that the board has reported."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, int], NpuSums] = {}

    def add(self, payload: bytes) -> None:
        """Takes the payload of a NPU_EVENTS frame, whole NpuEvent records."""
        for one in np.frombuffer(payload, wire.NpuEvent.DTYPE):
            key = int(one["phase"]), int(one["kernel"])
            cycles = int(one["end"]) - int(one["begin"])
            sums = NpuSums(1, cycles, int(one["macs"]), int(one["bytes"]), int(one["mac_cycles"]))
            self._sums[key] = self._sums.get(key, NpuSums()) + sums

    def restart(self) -> None:
        """Forgets them."""
        self._sums.clear()

    def table(self) -> NpuTable:
        """The totals as they are now."""
        return dict(self._sums)


def since(now: NpuTable, before: NpuTable) -> NpuTable:
    """What was added after `before`."""
    return {key: sums for key, one in now.items() if (sums := one - before.get(key, NpuSums())).jobs}


@dataclass(frozen=True, slots=True)
class Overlap:
    """One step of cores and NPU. A core is busy where it does not wait for others or for the NPU; `core_busy` and
    `both_busy` are means over the cores.
    """

    cycles: int  # of the step
    cores: int
    npu_busy: int
    core_busy: float
    both_busy: float
    jobs: int
    macs: int
    mac_cycles: int
    bytes: int

    @property
    def use(self) -> float:
        """Fraction of the step in which the NPU works."""
        return self.npu_busy / self.cycles

    @property
    def overlap(self) -> float:
        """Both busy, of the shorter of the two."""
        shorter = min(self.npu_busy, self.core_busy)
        return self.both_busy / shorter if shorter > 0 else 0.0


def overlap(trace: StepTrace) -> Overlap | None:
    """None where the NPU had nothing to do, or the step's end has not come."""
    jobs, events = trace.npu, trace.records
    steps = events[events["kernel"] == wire.Kernel.STEP]
    if not len(jobs) or not len(steps):
        return None
    begin, cycles = int(steps[-1]["start_cycles"]), int(steps[-1]["cycles"])
    cores = np.unique(events["core"])
    idle = events[np.isin(events["kernel"], IDLE)]
    start = np.clip(idle["start_cycles"].astype(np.int64) - begin, 0, cycles)
    end = np.clip(start + idle["cycles"].astype(np.int64), 0, cycles)
    busy = jobs["end"].astype(np.int64) - jobs["begin"].astype(np.int64)
    both_idle = _busy_until(jobs, begin, end) - _busy_until(jobs, begin, start)  # the NPU works, this core waits
    npu_busy = int(busy.sum())
    return Overlap(
        cycles=cycles,
        cores=len(cores),
        npu_busy=npu_busy,
        core_busy=cycles - float((end - start).sum()) / len(cores),
        both_busy=npu_busy - float(both_idle.sum()) / len(cores),
        jobs=len(jobs),
        macs=int(jobs["macs"].sum()),
        mac_cycles=int(jobs["mac_cycles"].sum()),
        bytes=int(jobs["bytes"].sum()),
    )


def _busy_until(jobs: _Records, origin: int, at: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Cycles that the NPU has worked up to each moment; its jobs follow each other."""
    edges = np.column_stack((jobs["begin"], jobs["end"])).astype(np.int64).ravel() - origin
    work = np.cumsum((jobs["end"] - jobs["begin"]).astype(np.int64))
    done = np.column_stack((np.concatenate(([0], work[:-1])), work)).ravel()
    return np.asarray(np.interp(at, edges, done), np.float64)
