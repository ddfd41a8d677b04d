# SPDX-License-Identifier: Apache-2.0
"""Blocks that the pipeline model replays take as long as those that it executes, whatever memory answers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from model_program import build_with_model
from pipeline_loops import assemble_loop

TIMES = 20_000

#: By what makes replaying them hard.
LOOPS = {
    "full vector queues": "ldr q16, [x1]; ldr q17, [x2];"
    + ";".join(f"sdot v{n}.4s, v16.16b, v17.16b" for n in range(8)),
    "a pipe kept for several cycles": "mul x3, x4, x5; udiv x6, x3, x7; ldr x8, [x1]; add x9, x9, x8",
    "loads of two micro-ops with writeback": "ldp q0, q1, [x1], #32; ldp q2, q3, [x1], #32; add v0.4s, v0.4s, v1.4s",
    "stores, and loads of what they stored": "ldr x3, [x1]; add x3, x3, #1; str x3, [x1]; stp q0, q1, [x2]",
    "atomics and barriers": "ldxr x3, [x1]; add x3, x3, #1; stxr w4, x3, [x1]; dmb ish; dc cvac, x1; dsb ish",
    "prefetches": "prfm pldl1keep, [x1, #512]; ldr q0, [x1]; prfm pldl2keep, [x1, #4096]; fmla v1.4s, v0.4s, v2.4s",
    "address and data of loads": "ldr x3, [x1]; ldr x4, [x3, #8]; ld1 {v0.s}[1], [x2]; ld4 {v4.4s-v7.4s}, [x2]",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay")
    return build_with_model(Path(__file__).parent / "replay_program.c", folder / "replay_program")


def compare(program: Path, body: str, stride: int, noise: int) -> tuple[int, int]:
    code = assemble_loop(program, body)
    command = [str(program), str(TIMES), str(stride), str(noise)]
    with code.open("rb") as words:
        run = subprocess.run(command, stdin=words, capture_output=True, text=True, check=True, timeout=60)
    different, replayed = map(int, run.stdout.split())
    return different, replayed


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize(("stride", "noise"), [(0, 1_000_000), (16, 200), (64, 1_000_000), (8, 10)])
def test_replayed_blocks_take_as_long_as_executed_ones(program: Path, body: str, stride: int, noise: int) -> None:
    different, _ = compare(program, body, stride, noise)
    assert different == 0


def test_nearly_all_of_a_loop_in_the_l1d_is_replayed(program: Path) -> None:
    _, replayed = compare(program, LOOPS["full vector queues"], 0, 1_000_000)
    assert replayed > 0.8 * TIMES
