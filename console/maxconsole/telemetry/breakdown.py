# SPDX-License-Identifier: Apache-2.0
"""Where the cycles of a phase went: computing, waiting for memory or for other cores; and a roofline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from maxconsole.telemetry.bounds import MODEL_PORT_BOUND, PEAK_MACS
from maxconsole.telemetry.report import MAC_KERNELS, UNCOVERED, KernelRow

#: Beats read from below L2.
BUS_ACCESS_RD: Final = 0x60
BEAT_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Cycles of all cores. `compute`: what the busiest pipe alone needs, block by block. `synchronization`: waiting at
    barriers, between jobs and for the NPU. `memory`: the rest of the kernels' cycles, which is waiting for caches and
    DRAM, and for results of earlier instructions. `other`: between kernels.
    """

    compute: int
    memory: int
    synchronization: int
    other: int

    @property
    def total(self) -> int:
        return self.compute + self.memory + self.synchronization + self.other


def breakdown(rows: Iterable[KernelRow]) -> Breakdown | None:
    """Of the rows of one phase; None where the port bound was not counted: it is the virtual board's."""
    compute = kernels = waiting = other = 0
    for row in rows:
        if row.kernel in ("wait", "npu_wait"):
            waiting += row.cycles
        elif row.kernel == UNCOVERED:
            other += row.cycles
        elif (bound := row.counters.get(f"{MODEL_PORT_BOUND:#04x}")) is None:
            return None
        else:
            compute += min(bound, row.cycles)
            kernels += row.cycles
    return Breakdown(compute, kernels - compute, waiting, other)


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel in a roofline: MACs a cycle of one core, and MACs a byte from below L2 (None: it read nothing)."""

    kernel: str
    macs_per_cycle: float
    macs_per_byte: float | None

    def of_roof(self, bytes_per_cycle: float) -> float:
        """Fraction of what multipliers and memory allow, 0..1."""
        slope = math.inf if self.macs_per_byte is None else self.macs_per_byte * bytes_per_cycle
        return self.macs_per_cycle / min(PEAK_MACS, slope)


def roofline(rows: Iterable[KernelRow]) -> tuple[Point, ...]:
    """The kernels that multiply, those with most cycles first."""
    names = {kernel.name.lower() for kernel in MAC_KERNELS}
    points = []
    for row in sorted(rows, key=lambda row: -row.cycles):
        if row.kernel in names and row.cycles and row.work:
            read = row.counters.get(f"{BUS_ACCESS_RD:#04x}", 0) * BEAT_BYTES
            points.append(Point(row.kernel, row.work / row.cycles, row.work / read if read else None))
    return tuple(points)


_LEFT, _BOTTOM, _DECADES = -1.0, -1.0, 5.0  # powers of ten: MAC per byte from 0.1, MAC per cycle from 0.1


def draw_roofline(points: Sequence[Point], bytes_per_cycle: float, *, width: int = 64, height: int = 12) -> list[str]:
    """A plot with logarithmic axes: the roof, and a letter for each kernel. Plain text."""
    grid = [[" "] * width for _ in range(height)]
    top = math.log10(PEAK_MACS * 1.5)

    def row_of(macs_per_cycle: float) -> int:
        share = (math.log10(max(macs_per_cycle, 1e-9)) - _BOTTOM) / (top - _BOTTOM)
        return height - 1 - max(0, min(height - 1, round(share * (height - 1))))

    def column_of(macs_per_byte: float) -> int:
        share = (math.log10(macs_per_byte) - _LEFT) / _DECADES
        return max(0, min(width - 1, round(share * (width - 1))))

    for column in range(width):
        intensity = 10 ** (_LEFT + _DECADES * column / (width - 1))
        roof = min(PEAK_MACS, intensity * bytes_per_cycle)
        if math.log10(roof) >= _BOTTOM:
            grid[row_of(roof)][column] = "-" if roof == PEAK_MACS else "/"
    for letter, point in zip("abcdefghijklmnop", points, strict=False):
        at = width - 1 if point.macs_per_byte is None else column_of(point.macs_per_byte)
        grid[row_of(point.macs_per_cycle)][at] = letter
    lines = [
        f"{10 ** (_BOTTOM + (top - _BOTTOM) * (height - 1 - y) / (height - 1)):6.1f} |{''.join(row)}".rstrip()
        for y, row in enumerate(grid)
    ]
    scale = "".join(f"{10.0 ** (_LEFT + step):<{width // 5}g}" for step in range(5))
    return ["MAC per cycle", *lines, f"       +{'-' * width}", f"        {scale.rstrip()}  MAC per byte"]
