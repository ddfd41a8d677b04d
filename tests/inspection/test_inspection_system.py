# SPDX-License-Identifier: Apache-2.0
"""The kernels as they ship: no hot loop touches the stack."""

from __future__ import annotations

import re

import pytest

from maxconsole.boards import load_board, plan_unbound
from maxconsole.firmware.build import build
from maxconsole.inspection.report import FunctionReport, Inspector
from maxconsole.inspection.text import WIDTH, function_lines

pytestmark = pytest.mark.system

#: Function -> how many accesses its innermost loops make, and why. A number may only fall; assembly is never listed.
EXCEPTIONS = {
    "attention": (4, "not a kernel's loop: deals tiles out"),
    "run_tile": (4, "not a kernel's loop: walks blocks of keys"),
    "put_on_stage": (4, "which probabilities go where; once for a row and a block of 256 keys"),
    "attention_block": (2, "not a kernel's loop: hands rows and keys to the assembly"),
    "gemm_int8_panel": (3, "hands each pair of tiles its rows in a structure; once for 8 rows of a panel"),
    "log_sum_exp": (2, "the two sums of a chunk are kept in an array"),
    "quantize_blocks": (3, "notes the addresses of the next rows, once for four; clears what is not finite"),
    "quantize_rows": (3, "hands over the scales of four groups in an array; once for 128 values"),
    "rotate_and_measure": (4, "rotated pairs are handed over in an array, between rotation and maximum"),
    "rotate_and_quantize": (1, "reads them there"),
    "split_queries": (1, "reads a row's address; once for each row of a tile"),
    "update_slots": (12, "the heads of up to four slots are handed over in arrays; once for each token"),
    "kv_cache_update": (4, "deals slots out to update_slots; once for each token"),
    "quantize_queries": (1, "once for each row of a tile"),
    "rms_norm_rows": (5, "factors of two rows are kept across calls of the assembly; once for each row"),
    "score_groups": (1, "which keys a row sees, handed to the assembly; once for 16 keys"),
}


@pytest.fixture(scope="module")
def kernels() -> tuple[FunctionReport, ...]:
    board = load_board("aimax395-virtual")
    return Inspector(build(board, plan_unbound(board)).elf).kernels()


def test_no_hot_loop_touches_the_stack(kernels: tuple[FunctionReport, ...]) -> None:
    touching = {one.name: sum(loop.stack_accesses for loop in one.hot) for one in kernels}
    allowed = {name: EXCEPTIONS.get(name.partition(".")[0], (0, ""))[0] for name in touching}
    assert {name: count for name, count in touching.items() if count > allowed[name]} == {}


def test_no_kernel_touches_the_platform_register(kernels: tuple[FunctionReport, ...]) -> None:
    touching = {
        one.name for one in kernels for line in one.lines if re.search(r"\b[wx]18\b", line.instruction.operands)
    }
    assert touching == set()


def test_no_exception_is_made_for_assembly(kernels: tuple[FunctionReport, ...]) -> None:
    assembly = {one.name for one in kernels if one.assembly}
    assert assembly, "the image has no assembly kernels"
    assert not assembly & EXCEPTIONS.keys()


def test_every_instruction_of_a_hot_loop_is_known_to_the_timing_model(kernels: tuple[FunctionReport, ...]) -> None:
    assert {one.name: loop.mix for one in kernels for loop in one.hot if "UNDECODED" in loop.mix} == {}


def test_gemm_tiles_are_bound_by_the_vector_pipes(kernels: tuple[FunctionReport, ...]) -> None:
    (tile,) = (one for one in kernels if one.name == "gemm_tile_8_minimum")
    (loop,) = tile.hot
    assert (loop.macs, loop.bound.busiest.name) == (8 * 4 * 32, "V")
    assert loop.banks.accumulators == tuple(range(16, 32))


def test_reports_fit_80_columns(kernels: tuple[FunctionReport, ...]) -> None:
    assert [line for one in kernels for line in function_lines(one) if len(line) > WIDTH] == []
