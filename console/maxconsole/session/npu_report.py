# SPDX-License-Identifier: Apache-2.0
"""A prefill with the NPU against what its parts allow: the NPU alone, the cores alone, the memory bus alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxconsole.boards import Board
from maxconsole.telemetry.breakdown import BEAT_BYTES, BUS_ACCESS_RD
from maxconsole.telemetry.npu import Overlap
from maxconsole.telemetry.report import KernelRow


@dataclass(frozen=True, slots=True)
class NpuReport:
    """One prefill batch in cycles of the board's clock. Bounds: the jobs' multiply-accumulates at the NPU's rate; the
    work of the cores, shared out evenly, their waiting for memory included; all bytes that are read, and the NPU's
    results, at the best that the bus gives: less when several use it, and for writes. `ratio` is the time over the
    largest.
    """

    cycles: int
    cores: int
    jobs: int
    macs: int
    npu_busy: int
    core_busy: float  # mean over the cores
    use: float  # of the NPU, 0..1
    overlap: float  # both busy, of the shorter of the two, 0..1
    npu_bytes: int
    core_bytes: int  # read from below L2
    npu_bound: int
    core_bound: float
    bus_bound: float
    ratio: float


def npu_report(side: Overlap, rows: Sequence[KernelRow], board: Board, counter_hz: int) -> NpuReport:
    """Of the last batch, whose kernels are `rows`: a prompt in one batch."""
    core_bytes = sum(row.counters.get(f"{BUS_ACCESS_RD:#04x}", 0) for row in rows) * BEAT_BYTES
    best = board.dram.effective_bytes_per_s or board.dram.peak_bytes_per_s
    bus = (side.bytes + core_bytes) * counter_hz / best
    return NpuReport(
        cycles=side.cycles,
        cores=side.cores,
        jobs=side.jobs,
        macs=side.macs,
        npu_busy=side.npu_busy,
        core_busy=side.core_busy,
        use=side.use,
        overlap=side.overlap,
        npu_bytes=side.bytes,
        core_bytes=core_bytes,
        npu_bound=side.mac_cycles,
        core_bound=side.core_busy,
        bus_bound=bus,
        ratio=side.cycles / max(side.mac_cycles, side.core_busy, bus),
    )
