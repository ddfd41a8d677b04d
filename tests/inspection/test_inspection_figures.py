# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from assembled import take_apart

from maxconsole.inspection.kernels import KERNELS
from maxconsole.schema.wire import Kernel

TILE = """
        movi    v16.4s, #0
        movi    v17.4s, #0
top:    ldp     q0, q1, [x0], #32
        ldr     q8, [x1], #16
        sdot    v16.4s, v0.16b, v8.4b[0]
        sdot    v17.4s, v1.16b, v8.4b[1]
        mul     v2.4s, v16.4s, v30.4s
        subs    x2, x2, #1
        b.ne    top
        ret
"""


def test_a_pass_is_counted() -> None:
    (loop,) = take_apart(TILE).figures
    assert (loop.instructions, loop.macs, loop.stack_accesses, loop.calls) == (7, 32, 0, 0)
    assert (loop.general_registers, loop.vector_registers) == (3, 7)
    assert loop.mix["V_DOT"] == 2
    assert sum(loop.mix.values()) == loop.instructions


def test_vector_registers_are_sorted_into_banks() -> None:
    (loop,) = take_apart(TILE).figures
    banks = loop.banks
    assert (banks.rows, banks.columns, banks.accumulators) == ((8,), (0, 1), (16, 17))
    assert (banks.constants, banks.scratch) == ((30,), (2,))


def test_the_bound_is_that_of_the_busiest_port() -> None:
    (loop,) = take_apart(TILE).figures
    assert loop.bound.busiest.name == "V"  # two SDOT, and MUL of 128 bits, which takes V0 for two cycles
    assert loop.bound.cycles == 2
    assert loop.of_peak == 0.5


@pytest.mark.parametrize(
    ("body", "macs"),
    [
        ("sdot v0.4s, v1.16b, v2.16b; smlal v3.2d, v0.2s, v4.2s", 16),
        ("smlal v0.4s, v1.4h, v2.4h; smlal2 v3.4s, v1.8h, v2.8h", 8),
        ("fmla v0.4s, v1.4s, v2.4s", 4),
        ("smull x3, w4, w5", 0),
    ],
)
def test_multiply_accumulates_are_those_of_the_widest_kind(body: str, macs: int) -> None:
    (loop,) = take_apart(f"top: {body}; cbnz x0, top; ret").figures
    assert loop.macs == macs


@pytest.mark.parametrize(
    ("before", "body", "accesses"),
    [
        ("nop", "str q0, [sp, #16]", 1),
        ("nop", "ldr q0, [x1]", 0),
        ("mov x29, sp", "ldp x3, x4, [x29, #16]", 1),
        ("add x5, sp, #64", "ldr q0, [x5], #16", 1),
        ("add x5, sp, x6, lsl #4", "ldr q0, [x5]", 1),
        ("add x5, sp, #64; mov x5, x1", "ldr q0, [x5]", 0),
        ("add x5, sp, #64; ldr x5, [x5]", "ldr q0, [x5]", 0),
        ("add x5, sp, #64; bl far", "ldr q0, [x5]", 0),
        ("add x19, sp, #64; bl far", "ldr q0, [x19]", 1),
        ("add x5, sp, #64", "add x6, x5, #16; ldr q0, [x6]; mov x5, x1", 1),
    ],
)
def test_stack_traffic_is_found_through_any_register(before: str, body: str, accesses: int) -> None:
    (loop,) = take_apart(f"{before}; top: {body}; subs x0, x0, #1; b.ne top; ret; far: ret").figures
    assert loop.stack_accesses == accesses


def test_loads_and_stores_of_the_stack_are_told_apart() -> None:
    (loop,) = take_apart("top: ldr x3, [sp]; str x3, [sp]; str x4, [sp, #8]; cbnz x0, top; ret").figures
    assert (loop.stack_loads, loop.stack_stores) == (1, 2)


def test_kernels_have_the_names_that_telemetry_has_for_them() -> None:
    assert set(KERNELS) - {"gemm", "gemv"} <= {kernel.name.lower() for kernel in Kernel}
