# SPDX-License-Identifier: Apache-2.0
"""The NPU's lane of a step: jobs, and the reason of every gap between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxconsole.schema import wire
from maxconsole.tui.drawing.lanes import NPU_BUS, NPU_IDLE, NPU_SOFTMAX, NPU_STARTING
from maxconsole.tui.drawing.units import binary, percent
from maxconsole.tui.figures.lane import Cycles, Lane, Moment, kernel_name, layer_of


class _Jobs(NamedTuple):
    """Cycles after the step's start. Gap i lies before job i, the last one behind all jobs; until `asked` no job was
    there, and `gap_begin` <= `asked` <= `gap_end`.
    """

    begin: Cycles
    end: Cycles
    computed: Cycles  # until then the multiply-accumulates alone would have taken
    gap_begin: Cycles
    asked: Cycles
    gap_end: Cycles


def _jobs(records: npt.NDArray[np.void], origin: int, step_cycles: int) -> _Jobs:
    submitted, begin, end = (records[name].astype(np.int64) - origin for name in ("submitted", "begin", "end"))
    gap_begin = np.concatenate([[0], end])
    gap_end = np.maximum(gap_begin, np.append(begin, max(step_cycles, int(end[-1]))))
    asked = np.clip(np.append(submitted, gap_end[-1]), gap_begin, gap_end)
    computed = np.minimum(begin + records["mac_cycles"].astype(np.int64), end)
    return _Jobs(begin, end, computed, gap_begin, asked, gap_end)


def npu_lane(records: npt.NDArray[np.void], cores: Sequence[Lane], origin: int, step_cycles: int) -> Lane:
    """From wire.NpuEvent records by begin, of a step that began at `origin` on the board's clock.

    A job is in two pieces: what its multiply-accumulates take, and what it waits for memory beyond that. So is a gap:
    until a job was there, and from then until it began. What attention's jobs multiply comes from the cores' softmax.
    """
    jobs = _jobs(records, origin, step_cycles)
    count = len(records)
    numbers, kernel = np.unique(records["kernel"], return_inverse=True)
    kinds = (NPU_IDLE, NPU_STARTING, NPU_BUS, NPU_SOFTMAX, *map(kernel_name, numbers.tolist()))
    # Nobody has asked for the next job yet: it waits for what the cores make for it.
    until_asked = np.append(np.where(records["kernel"] == wire.Kernel.ATTENTION, 3, 0), 0)
    begin = np.concatenate([jobs.gap_begin, jobs.asked, jobs.begin, jobs.computed])
    end = np.concatenate([jobs.asked, jobs.gap_end, jobs.computed, jobs.end])
    kind = np.concatenate([until_asked, np.ones(count + 1), kernel + 4, np.full(count, 2)]).astype(np.int64)
    job = np.concatenate([np.full(2 * count + 2, -1), np.arange(count), np.arange(count)])
    order = np.lexsort((end, begin))
    order = order[(end > begin)[order]]

    def describe(index: int) -> Moment:
        piece = int(order[index])
        what, cycles = kinds[int(kind[piece])], int(end[piece] - begin[piece])
        if job[piece] < 0:
            return Moment(what, None, cycles, "cores in", _busiest(cores, float(begin[piece]), float(end[piece])))
        one = records[int(job[piece])]
        took = int(one["end"]) - int(one["begin"])
        waited = percent(max(0, took - int(one["mac_cycles"])) / took if took else 0)
        figure = f"{waited.strip()}, {binary(int(one['bytes'])).strip()}"
        return Moment(kernel_name(int(one["kernel"])), layer_of(one), took, "memory", figure)

    busy = int((jobs.end - jobs.begin).sum()) / step_cycles
    return Lane("npu", "NPU", kinds, kind[order], begin[order], end[order], min(1.0, busy), describe)


def _busiest(cores: Sequence[Lane], begin: float, end: float) -> str:
    """What the cores spent most of this stretch on."""
    spent: dict[str, float] = {}
    for lane in cores:
        for kind, cycles in lane.spent(np.array([begin, end])).items():
            spent[kind] = spent.get(kind, 0.0) + float(cycles[0])
    best = max(spent, key=spent.__getitem__, default="")
    return best if best and spent[best] > 0 else "no kernel"
