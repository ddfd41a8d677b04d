# SPDX-License-Identifier: Apache-2.0
"""One step on its cores and its NPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxconsole.schema import wire
from maxconsole.telemetry.npu import IDLE, Overlap, overlap
from maxconsole.telemetry.report import ratio
from maxconsole.telemetry.steps import StepTrace
from maxconsole.tui.drawing.units import ratio as ratio_text
from maxconsole.tui.figures.lane import Cycles, Lane, Moment, kernel_name, layer_of
from maxconsole.tui.figures.npu_lane import npu_lane


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """A step as its lanes, one a core, and the NPU's below them. `cycles` is how long it took, `tokens` how many it
    worked on; `overlap` is None without an NPU.
    """

    phase: int
    step: int
    tokens: int
    cycles: int
    cores: tuple[Lane, ...]
    npu: Lane | None
    overlap: Overlap | None

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """All of them."""
        return self.cores if self.npu is None else (*self.cores, self.npu)

    @property
    def busy(self) -> float:
        """Of the cores that took part, 0..1."""
        return sum(lane.busy for lane in self.cores) / len(self.cores) if self.cores else 0.0


def timeline(trace: StepTrace) -> Timeline | None:
    """The lanes of a step; None where its enclosing event lasted no time."""
    is_step = trace.records["kernel"] == wire.Kernel.STEP
    enclosing, inner = trace.records[is_step], trace.records[~is_step]
    if not len(enclosing) or not enclosing[-1]["cycles"]:
        return None
    origin, cycles = int(enclosing[-1]["start_cycles"]), int(enclosing[-1]["cycles"])
    cores = tuple(
        _core_lane(core, inner[inner["core"] == core], origin, cycles) for core in np.unique(inner["core"]).tolist()
    )
    npu = npu_lane(trace.npu, cores, origin, cycles) if len(trace.npu) else None
    return Timeline(trace.phase, trace.step, int(enclosing[-1]["work"]), cycles, cores, npu, overlap(trace))


def _core_lane(core: int, records: npt.NDArray[np.void], origin: int, step_cycles: int) -> Lane:
    cycles = records["cycles"].astype(np.int64)
    begin, end = lay_out(records["start_cycles"].astype(np.int64) - origin, cycles)
    busy = int(cycles[~np.isin(records["kernel"], IDLE)].sum()) / step_cycles
    numbers, kind = np.unique(records["kernel"], return_inverse=True)

    def describe(index: int) -> Moment:
        one = records[index]
        spent = int(one["cycles"])
        ipc = ratio(int(one["instructions"]) or None, spent)
        return Moment(kernel_name(int(one["kernel"])), layer_of(one), spent, "IPC", ratio_text(ipc).strip())

    return Lane(
        name=f"{core:>2}",
        title=f"core {core}",
        kinds=tuple(map(kernel_name, numbers.tolist())),
        kind=kind.astype(np.int64),
        begin=begin,
        end=end,
        busy=min(1.0, busy),
        describe=describe,
    )


def lay_out(starts: Cycles, cycles: Cycles) -> tuple[Cycles, Cycles]:
    """Begin and end of events in the order of their starts: none begins before its start or the end of the last.

    An event that is made of pieces starts with the first of them and has the cycles of all, so that two of them overlap
    on the wire.
    """
    if not len(starts):
        return starts, starts
    total = np.cumsum(cycles)
    end = total + np.maximum.accumulate(starts - (total - cycles))
    return end - cycles, end
