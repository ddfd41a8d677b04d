# SPDX-License-Identifier: Apache-2.0
"""One step on its cores: the events one after the other, and which of them fills a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.schema import wire
from maxconsole.telemetry.report import ratio
from maxconsole.telemetry.snapshot import name_of
from maxconsole.telemetry.steps import StepTrace
from maxconsole.tui.drawing.lanes import WAIT

#: Of a stretch of time, what events have to cover for it to be called theirs and not a gap.
_COVERED: Final = 0.5

_Cycles = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moment:
    """An event, for the line about what is under the cursor. `layer` is None outside of all layers."""

    kernel: str
    layer: int | None
    cycles: int
    ipc: float | None


@dataclass(frozen=True, eq=False)
class Lane:
    """The events of one core, apart from the one that encloses them all: wire.KernelEvent records by start.

    `begin` and `end` are cycles after the step's start. An event that is made of pieces starts with the first of them
    and has the cycles of all, so that two of them overlap on the wire; here each waits for the end of the one before.
    """

    core: int
    records: npt.NDArray[np.void]
    begin: _Cycles
    end: _Cycles
    busy: float  # of the step, in kernels other than waiting, 0..1

    @cached_property
    def _clocks(self) -> dict[int, tuple[_Cycles, _Cycles]]:
        """For each kernel its events' bounds, and the cycles spent in it up to each of those."""
        clocks = {}
        for kernel in np.unique(self.records["kernel"]).tolist():
            own = self.records["kernel"] == kernel
            bounds = np.stack([self.begin[own], self.end[own]], axis=1).ravel()
            spent = np.cumsum(np.diff(bounds, prepend=bounds[:1])[1::2])
            clocks[kernel] = bounds, np.repeat(np.concatenate([[0], spent]), 2)[1:-1]
        return clocks

    def spent(self, edges: npt.NDArray[np.float64]) -> dict[int, npt.NDArray[np.float64]]:
        """Cycles in each kernel between one edge and the next. `edges` ascend, in cycles after the step's start."""
        return {kernel: np.diff(np.interp(edges, *clock)) for kernel, clock in self._clocks.items()}

    def names(self, edges: npt.NDArray[np.float64]) -> list[str]:
        """A kernel for each stretch of equal length; "" where events cover less than half of it.

        Where several share a stretch, it is the one that has so far been shown the least for its cycles: from afar,
        kernels have as many stretches as their share, and none has one that it is not in.
        """
        spent = self.spent(edges)
        if not spent:
            return [""] * (len(edges) - 1)
        names, cycles = [kernel_name(kernel) for kernel in spent], np.stack(list(spent.values()))
        covered = cycles.sum(axis=0) >= _COVERED * np.diff(edges)
        owed, shown = [0.0] * len(names), []
        for stretch, enough in zip(cycles.T.tolist(), covered.tolist(), strict=True):
            if not enough:
                shown.append("")
                continue
            owed = [before + more for before, more in zip(owed, stretch, strict=True)]
            chosen = max((at for at, more in enumerate(stretch) if more > 0), key=owed.__getitem__)
            owed[chosen] -= sum(stretch)
            shown.append(names[chosen])
        return shown

    def moment(self, kernel: str, begin: float, end: float) -> Moment | None:
        """The event of `kernel` that takes the most of this stretch; None where it has none there."""
        own = np.isin(self.records["kernel"], [number for number in self._clocks if kernel_name(number) == kernel])
        overlap = np.where(own, np.minimum(self.end, end) - np.maximum(self.begin, begin), 0)
        if not own.any() or overlap.max() <= 0:
            return None
        one = self.records[overlap.argmax()]
        layer, cycles = int(one["layer"]), int(one["cycles"])
        return Moment(
            kernel=kernel_name(int(one["kernel"])),
            layer=None if layer == wire.NO_LAYER else layer,
            cycles=cycles,
            ipc=ratio(int(one["instructions"]) or None, cycles),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """A step as its lanes, one a core. `cycles` is how long it took, `tokens` how many it worked on."""

    phase: int
    step: int
    tokens: int
    cycles: int
    lanes: tuple[Lane, ...]

    @property
    def busy(self) -> float:
        """Of the cores that took part, 0..1."""
        return sum(lane.busy for lane in self.lanes) / len(self.lanes) if self.lanes else 0.0


def timeline(trace: StepTrace) -> Timeline | None:
    """The lanes of a step; None where its enclosing event lasted no time."""
    records = trace.records
    enclosing = records[records["kernel"] == wire.Kernel.STEP]
    if not len(enclosing) or not enclosing[-1]["cycles"]:
        return None
    origin, cycles = int(enclosing[-1]["start_cycles"]), int(enclosing[-1]["cycles"])
    inner = records[records["kernel"] != wire.Kernel.STEP]
    lanes = tuple(
        _lane(core, inner[inner["core"] == core], origin, cycles) for core in np.unique(inner["core"]).tolist()
    )
    return Timeline(trace.phase, trace.step, int(enclosing[-1]["work"]), cycles, lanes)


def kernel_name(number: int) -> str:
    """As the schema calls it; the number itself for one that it does not know."""
    return name_of(wire.Kernel, number) or ""


def _lane(core: int, records: npt.NDArray[np.void], origin: int, step_cycles: int) -> Lane:
    cycles = records["cycles"].astype(np.int64)
    begin, end = lay_out(records["start_cycles"].astype(np.int64) - origin, cycles)
    waiting = np.isin(records["kernel"], [one for one in wire.Kernel if one.name.lower() == WAIT])
    busy = int(cycles[~waiting].sum()) / step_cycles
    return Lane(core, records, begin, end, min(1.0, busy))


def lay_out(starts: _Cycles, cycles: _Cycles) -> tuple[_Cycles, _Cycles]:
    """Begin and end of events in the order of their starts: none begins before its start or the end of the last."""
    if not len(starts):
        return starts, starts
    total = np.cumsum(cycles)
    end = total + np.maximum.accumulate(starts - (total - cycles))
    return end - cycles, end
