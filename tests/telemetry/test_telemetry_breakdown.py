# SPDX-License-Identifier: Apache-2.0
"""Where cycles went, and how far a kernel is from the roof."""

from __future__ import annotations

import pytest

from maxconsole.schema import wire
from maxconsole.telemetry.breakdown import Breakdown, breakdown, draw_roofline, roofline
from maxconsole.telemetry.kernels import KernelFold
from maxconsole.telemetry.report import KernelRow, kernel_rows

EVENTS = (0xC000, 0x60, 0x03, 0x04, 0x16, 0x17)


def rows(*totals: tuple[wire.Kernel, int, int, int, int], events: tuple[int, ...] = EVENTS) -> list[KernelRow]:
    """Of (kernel, cycles, work, port bound, beats), in the prefill on core 0."""
    fold = KernelFold()
    for kernel, cycles, work, bound, beats in totals:
        row = wire.KernelTotal(
            kernel=kernel,
            core=0,
            phase=wire.Phase.PREFILL,
            count=1,
            cycles=cycles,
            instructions=cycles,
            work=work,
            counters=(bound, beats, 0, 0, 0, 0),
        )
        fold.add_totals(row.pack())
    return list(kernel_rows(fold.table(), events))


def test_every_cycle_is_in_one_part() -> None:
    found = breakdown(
        rows(
            (wire.Kernel.STEP, 1000, 0, 0, 0),
            (wire.Kernel.LINEAR_UP, 600, 0, 500, 0),
            (wire.Kernel.RMS_NORM, 100, 0, 60, 0),
            (wire.Kernel.WAIT, 250, 0, 0, 0),
        )
    )
    assert found == Breakdown(compute=560, memory=140, synchronization=250, other=50)
    assert found.total == 1000


def test_a_board_that_does_not_count_the_port_bound_has_no_breakdown() -> None:
    assert breakdown(rows((wire.Kernel.LINEAR_UP, 600, 0, 500, 0), events=(0x24, 0x60, 3, 4, 0x16, 0x17))) is None


def test_the_roof_is_the_multipliers_or_the_memory() -> None:
    near, far, resident = roofline(
        rows(
            (wire.Kernel.LINEAR_UP, 900, 900 * 16, 0, 9),  # 100 MAC a byte
            (wire.Kernel.HEAD, 800, 800 * 2, 0, 50),  # 2 MAC a byte
            (wire.Kernel.ATTENTION, 700, 700 * 8, 0, 0),
            (wire.Kernel.RMS_NORM, 999, 1, 0, 1),
        )
    )
    assert (near.kernel, near.of_roof(5.0)) == ("linear_up", 0.5)
    assert (far.kernel, far.of_roof(5.0)) == ("head", pytest.approx(0.2))
    assert (resident.macs_per_byte, resident.of_roof(5.0)) == (None, 0.25)


def test_the_plot_keeps_its_size_and_shows_every_kernel() -> None:
    points = roofline(rows((wire.Kernel.LINEAR_UP, 900, 900 * 16, 0, 9), (wire.Kernel.HEAD, 10**9, 1, 0, 10**9)))
    lines = draw_roofline(points, 5.0, width=60, height=10)
    assert len(lines) == 13
    assert max(map(len, lines)) <= 80
    plot = "\n".join(lines[1:11])
    assert "a" in plot
    assert "b" in plot
