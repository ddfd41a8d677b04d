# SPDX-License-Identifier: Apache-2.0
"""Mode `timed` on loops whose cycles can be counted by hand. What the numbers follow from: the comment on each."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from pipeline_loops import Steady, build_pipeline, run_loop

Run = Callable[..., Steady]


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Run:
    program = build_pipeline(tmp_path_factory.mktemp("pipeline"))
    return lambda body, outcomes=(), leap=0: run_loop(program, body, outcomes, leap=leap)


def many(instruction: str, count: int) -> str:
    return ";".join([instruction] * count)


@pytest.mark.parametrize(
    ("body", "cycles"),
    [
        ("add x3, x3, #1", 1),  # a taken branch a cycle
        (many("nop", 16), 18 / 4),  # dispatch: 4 a cycle, with the counter and the branch
        (";".join(f"add x{n}, x{n}, #1" for n in range(3, 11)), 3),  # 9 integer operations on 3 pipes: measured
        (many("add x3, x4, x5, lsl #9", 4), 4),  # only M shifts that far
        (many("mul x3, x4, x5", 2), 6),  # M is kept for 3 cycles
        (";".join(f"ushr v{n}.4s, v30.4s, #3" for n in range(4)), 4),  # only V1
        (";".join(f"mul v{n}.4s, v30.4s, v31.4s" for n in range(4)), 8),  # V0 twice each
        (";".join(f"sdot v{n}.4s, v30.16b, v31.16b" for n in range(8)), 4),  # V0 and V1
        (many("ldr x3, [x1]", 4), 2),  # L0 and L1
        (many("ldp q0, q1, [x1]", 2), 2),  # both for one
        (many("ld4 {v0.4s-v3.4s}, [x1]", 1), 5),  # ten vector micro-operations
        (many("str x3, [x1]", 4), 2),
        (many("str q0, [x1]", 4), 4),
    ],
)
def test_throughput(loop: Run, body: str, cycles: float) -> None:
    assert loop(body).cycles == pytest.approx(cycles, rel=0.01)


@pytest.mark.parametrize(
    ("body", "cycles"),
    [
        (many("add x3, x3, x4", 8), 8),
        (many("add x3, x3, x4, lsl #9", 4), 8),
        (many("fmul v0.4s, v0.4s, v1.4s", 4), 12),
        (many("smull v0.4s, v0.4h, v1.4h", 4), 16),
        (many("mul v0.4s, v0.4s, v1.4s", 2), 10),
        (many("ldr x1, [x1]", 4), 16),
        ("ldr q0, [x1]; umov x1, v0.d[0]", 7),  # 5 and 2
        ("ldp q0, q1, [x1]; umov x1, v1.d[0]", 9),  # 7 and 2
        ("ldr x4, [x1], #8", 1),  # the base register does not wait for the data
        ("dup v0.4s, w3; umov w3, v0.s[0]", 5),  # 3 and 2
        ("adds x3, x3, #1; adc x3, x4, x5", 2),  # through the flags
        ("fcmp s0, s1; fcsel s0, s2, s3, eq", 4),
        ("tbx v4.16b, {v1.16b-v4.16b}, v5.16b", 6),  # the last of the table's registers
        ("movk x3, #5", 1),  # keeps the other bits
        ("ins v0.s[1], v1.s[0]", 2),
        ("xtn2 v0.8h, v1.4s", 2),
    ],
)
def test_latency_of_a_chain(loop: Run, body: str, cycles: float) -> None:
    assert loop(body).cycles == pytest.approx(cycles, rel=0.01)


@pytest.mark.parametrize(
    ("body", "cycles"),
    [
        (many("sdot v0.4s, v1.16b, v2.16b", 8), 8),  # 3(1)
        (many("sdot v0.4s, v0.16b, v2.16b", 4), 12),  # a factor is needed early
        (many("fmla v0.4s, v1.4s, v2.4s", 8), 16),  # 4(2)
        (many("madd x3, x4, x5, x3", 4), 12),  # 4(3)
        (many("smlal v0.4s, v1.4h, v2.4h", 8), 8),  # 4(1)
        (many("mla v0.4s, v1.4s, v2.4s", 4), 8),  # 5(2)
        (many("ssra v0.4s, v1.4s, #1", 8), 8),  # 4(1)
        ("fmul v0.4s, v0.4s, v1.4s; fmla v0.4s, v1.4s, v2.4s", 7),  # another kind: 3 and 4
        ("mla v0.4s, v1.4s, v2.4s; sdot v0.4s, v1.16b, v2.16b", 8),  # another family: 5 and 3
        ("smull v0.4s, v0.4h, v1.4h; smlal v0.4s, v2.4h, v1.4h", 7),  # 3 to the accumulator, 4 to the factor
        ("ins v0.s[0], w3; ins v0.s[1], w4; ins v0.s[2], w5; umov w3, v0.s[0]", 11),  # 5 + 2 + 2 and 2
    ],
)
def test_accumulators_are_forwarded_late_within_their_family(loop: Run, body: str, cycles: float) -> None:
    assert loop(body).cycles == pytest.approx(cycles, rel=0.01)


def test_independent_work_hides_a_latency(loop: Run) -> None:
    assert loop("udiv x3, x3, x4;" + many("nop", 60)).cycles == pytest.approx(20, rel=0.01)


def test_the_reorder_buffer_ends_what_can_be_hidden(loop: Run) -> None:
    # 60 cycles of divisions that begin anew in each iteration, and 205 instructions, which take 52 to dispatch.
    divisions = "udiv x3, x4, x5; udiv x3, x3, x5; udiv x3, x3, x5"
    assert loop(f"{divisions};{many('nop', 200)}").cycles > 70
    assert loop(f"{divisions};{many('nop', 60)}").cycles < 65


def test_full_issue_queues_hold_up_dispatch(loop: Run) -> None:
    # 60 additions wait for a division. With them in the queues, the next iteration's division waits, too.
    waiting = "udiv x3, x4, x5;" + many("add x6, x3, x7", 60)
    free = "udiv x3, x4, x5;" + many("add x6, x8, x7", 60)
    assert loop(free).cycles == pytest.approx(61 / 3 + 1, abs=3)
    assert loop(waiting).cycles > 1.4 * loop(free).cycles


def test_at_most_two_micro_operations_for_one_pipe_are_dispatched_in_a_cycle(loop: Run) -> None:
    # Four multiplications need two cycles, the first of which takes in nothing else: 20 places for 18 instructions.
    assert loop(f"{many('mul w3, w4, w5', 4)};{many('nop', 12)}").cycles == pytest.approx(5, rel=0.01)
    assert loop(f"{many('add w3, w4, w5', 4)};{many('nop', 12)}").cycles == pytest.approx(4.5, rel=0.01)


def test_a_load_gets_the_data_of_a_store_that_is_still_in_the_buffer(loop: Run) -> None:
    assert loop("ldr x3, [x1]; add x3, x3, #1; str x3, [x1]").cycles == 5.5  # measured
    assert loop("ldr x3, [x1, #64]; add x3, x3, #1; str x3, [x1]").cycles < 3


def test_alternating_branches_are_learned(loop: Run) -> None:
    assert loop("add x3, x3, #1", [1, 0]).mispredicted == 0


def test_loops_of_fixed_length_are_learned(loop: Run) -> None:
    assert loop("add x3, x3, #1", [1] * 30 + [0]).mispredicted == 0


def test_a_mispredicted_branch_costs_a_refill(loop: Run) -> None:
    # Less than the 15 to 18 cycles that were measured, of which some go by until the branch is executed (check F7).
    chance = random.Random(1)
    steady = loop("add x3, x3, #1", [chance.randint(0, 1) for _ in range(3000)])
    assert steady.mispredicted == pytest.approx(0.5, abs=0.05)
    assert (steady.cycles - 1) / steady.mispredicted == pytest.approx(14, abs=0.1)


@pytest.mark.parametrize("registers", [1, 2, 3, 4])
def test_a_store_of_several_registers_holds_nobody_up_behind_it(loop: Run, registers: int) -> None:
    # A store of 16 bytes a cycle; had they a late result, the reorder buffer would fill up with what follows.
    work = ";".join(["add x3, x4, x5"] * 8)
    last = registers - 1
    vectors = "{v0.16b}" if last == 0 else f"{{v0.16b-v{last}.16b}}"
    assert loop(f"st1 {vectors}, [x1]; {work}").cycles == pytest.approx(max(4.0, registers), abs=1.01)


def test_a_barrier_waits_until_the_store_buffer_is_empty(loop: Run) -> None:
    # 16 cycles for the stores, and 4 from the last one's dispatch until it is in the cache.
    assert loop(many("stp q0, q1, [x1]", 8) + ";dmb ish").cycles == pytest.approx(20, rel=0.01)


@pytest.mark.parametrize("leap", [1 << 20, (1 << 31) - 1000, (1 << 31) + 1000, (1 << 32) + 7, 1 << 40])
def test_time_that_leaps_ahead_leaves_nothing_waiting(loop: Run, leap: int) -> None:
    """A core can stand still for long. Its queues were full before; they keep 32 bits of each time."""
    body = ";".join(["ushr v1.4s, v0.4s, #1"] * 12 + ["mul x1, x2, x3"] * 4)
    assert loop(body, leap=leap).cycles == pytest.approx(loop(body).cycles, rel=0.01)
