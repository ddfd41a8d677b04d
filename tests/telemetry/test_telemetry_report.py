# SPDX-License-Identifier: Apache-2.0
"""Shares, IPC, miss rates and instructions per multiply-accumulate."""

from __future__ import annotations

import pytest

from maxconsole.schema import wire
from maxconsole.telemetry.kernels import KernelFold
from maxconsole.telemetry.report import UNCOVERED, KernelRow, kernel_rows

#: L1D refills, L1D accesses, L2 refills, L2 accesses, and two that the report does not use.
EVENTS = (0x03, 0x04, 0x17, 0x16, 0x11, 0x08)


def rows(*totals: wire.KernelTotal, events: tuple[int, ...] = EVENTS) -> list[KernelRow]:
    fold = KernelFold()
    fold.add_totals(b"".join(total.pack() for total in totals))
    return list(kernel_rows(fold.table(), events))


def total(kernel: int, cycles: int, *, phase: int = wire.Phase.DECODE, core: int = 0) -> wire.KernelTotal:
    return wire.KernelTotal(
        kernel=kernel,
        core=core,
        phase=phase,
        count=2,
        cycles=cycles,
        instructions=3 * cycles,
        work=15 * cycles,
        counters=(5, 100, 1, 4, 0, 0),
    )


def test_a_kernel_is_measured_against_its_phase() -> None:
    linear, norm, other_phase = rows(
        total(wire.Kernel.RMS_NORM, 25),
        total(wire.Kernel.LINEAR_UP, 75),
        total(wire.Kernel.EMBED, 1000, phase=wire.Phase.PREFILL),
    )[1:] + rows(total(wire.Kernel.EMBED, 1000, phase=wire.Phase.PREFILL))
    assert (linear.kernel, linear.phase, linear.share) == ("linear_up", "decode", 0.75)
    assert (linear.ipc, linear.l1d_refill, linear.l2_refill, linear.instructions_per_mac) == (3.0, 0.05, 0.25, 0.2)
    assert (norm.share, norm.instructions_per_mac) == (0.25, None)
    assert other_phase.share == 1.0


def test_what_no_kernel_accounts_for_is_a_row_of_its_own() -> None:
    found = rows(total(wire.Kernel.STEP, 100), total(wire.Kernel.LINEAR_UP, 90))
    assert [(row.kernel, row.cycles, row.share) for row in found] == [("linear_up", 90, 0.9), (UNCOVERED, 10, 0.1)]
    assert found[1].instructions == 30


def test_shares_of_several_cores_add_up_to_one() -> None:
    found = rows(
        total(wire.Kernel.STEP, 100),
        total(wire.Kernel.LINEAR_UP, 90),
        total(wire.Kernel.LINEAR_UP, 60, core=1),
        total(wire.Kernel.WAIT, 40, core=1),
    )
    assert [(row.kernel, row.core_cycles, row.share) for row in found] == [
        ("linear_up", (90, 60), 0.75),
        ("wait", (0, 40), 0.2),
        (UNCOVERED, (10, 0), 0.05),
    ]


def test_what_the_board_does_not_count_is_not_invented() -> None:
    (row,) = rows(total(wire.Kernel.HEAD, 10), events=(0x11, 0x08, 0, 0, 0, 0))
    assert row.l1d_refill is None
    assert row.l2_refill is None
    assert row.ipc == pytest.approx(3.0)


def test_a_board_without_an_instruction_counter_has_no_ipc() -> None:
    fold = KernelFold()
    fold.add_totals(
        wire.KernelTotal(
            kernel=wire.Kernel.HEAD, core=0, phase=0, count=1, cycles=10, instructions=0, work=5, counters=()
        ).pack()
    )
    (row,) = kernel_rows(fold.table(), EVENTS)
    assert row.ipc is None
    assert row.l1d_refill is None
