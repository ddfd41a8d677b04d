# SPDX-License-Identifier: Apache-2.0
"""The NPU behind the device page, by its driver: results, refusals, queue, reset, times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from guest_programs import compile_npu, reported

from maxconsole.boards import Board
from maxconsole.schema.npu import NPU_DEPTH, NpuCode
from maxconsole.validation.guest import wait_until_finished
from maxconsole.virtual import Options, VirtualBoard
from maxconsole.virtual.races import NPU_KINDS

pytestmark = pytest.mark.system

Told = dict[str, int]


@pytest.fixture(scope="module")
def told(virtual_board: Board, tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("npu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        return reported(virtual_board, compile_npu(virtual_board, folder / "npu.elf", "npu.c"))


def test_random_products_equal_the_scalar_reference_to_the_bit(told: Told) -> None:
    assert told["present"] == 1
    assert told["wrong"] == 0


def test_nothing_but_results_is_written_and_not_before_the_wait(told: Told) -> None:
    assert (told["early"], told["outside"]) == (0, 0)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (NpuCode.FORMAT, "format_f32 format_q4_k format_unknown output_unknown"),
        (NpuCode.SHAPE, "rows_none rows_many k_none k_odd k_large panels_none panels_many stride_short"),
        (NpuCode.ALIGNMENT, "stride_odd weights_odd values_odd groups_odd scales_odd out_odd descriptor_odd"),
        (NpuCode.ADDRESS, "weights_outside values_beyond groups_end scales_page"),
        (NpuCode.ADDRESS, "out_in_ram out_in_code out_end out_wraps"),
        (NpuCode.OVERLAP, "out_over_values out_over_weights page_is_result"),
        (NpuCode.FORMAT, "pages_f16"),
        (NpuCode.SHAPE, "pages_half_a_block"),
        (NpuCode.ALIGNMENT, "pages_table_odd page_odd"),
        (NpuCode.ADDRESS, "pages_table_outside page_outside page_wraps"),
        (NpuCode.DONE, "pages_right"),
    ],
)
def test_a_bad_job_is_refused_with_its_reason(told: Told, code: NpuCode, names: str) -> None:
    assert {name: told[name] for name in names.split()} == dict.fromkeys(names.split(), int(code))


def test_refused_jobs_touch_nothing(told: Told) -> None:
    assert (told["refused_sequence"], told["refused_touched"]) == (0, 0)


def test_the_queue_is_full_until_the_first_job_was_waited_for(told: Told) -> None:
    assert NPU_DEPTH == 8
    assert (told["ninth"], told["ninth_code"]) == (0, NpuCode.BUSY)
    assert (told["first_wait"], told["tenth_code"]) == (NpuCode.DONE, NpuCode.DONE)
    assert told["last_wait"] == NpuCode.DONE


def test_a_look_does_not_wait(told: Told) -> None:
    assert told["look"] == NpuCode.BUSY
    assert told["look_ahead"] == NpuCode.UNKNOWN
    assert told["look_back"] == NpuCode.DONE


def test_results_of_a_job_that_nobody_has_waited_for_are_not_overwritten(told: Told) -> None:
    assert (told["collision"], told["collision_code"]) == (0, NpuCode.OVERLAP)


def test_a_reset_leaves_memory_alone_and_waits_for_what_it_ended_fail(told: Told) -> None:
    assert (told["reset_wait"], told["reset_look"]) == (NpuCode.RESET, NpuCode.RESET)
    assert told["reset_touched"] == 0
    assert (told["after_reset"], told["after_reset_wrong"]) == (NpuCode.DONE, 0)


def test_whatever_a_descriptor_says_nothing_but_results_is_written(told: Told) -> None:
    assert told["fuzz_outside"] == 0
    assert 10 < told["fuzz_accepted"] < 90
    for code in (NpuCode.DONE, NpuCode.FORMAT, NpuCode.SHAPE, NpuCode.ALIGNMENT, NpuCode.ADDRESS):
        assert told["fuzz_codes"] >> code & 1


def test_a_job_takes_what_the_profile_says(told: Told, virtual_board: Board) -> None:
    npu, hz = virtual_board.npu, virtual_board.cpu.clock_hz
    assert npu is not None
    assert npu.bandwidth_bytes_per_s is not None
    assert hz is not None
    rate = npu.rates[told["job_format"] == 5].macs_per_s
    assert told["times"] == 1
    assert told["startup"] == npu.startup_cycles
    assert told["behind"] == 0  # start-up of a queued job is over before the one in front of it is
    assert told["mac_cycles"] == pytest.approx(told["macs"] * hz / rate, abs=1)
    # Results are written more slowly than inputs are read.
    least = told["bytes"] * hz / npu.bandwidth_bytes_per_s
    assert least <= told["length"] < 1.3 * least
    assert told["too_old"] == 0


def test_the_timing_mode_does_not_show_in_results(told: Told, run: Callable[..., Told]) -> None:
    fast = run("npu.c", options=Options(mode="fast"))
    assert {name for name in told if told[name] != fast[name]} <= {"length"}  # other traffic is elsewhere in time


@pytest.fixture
def run(virtual_board: Board, tmp_path: Path) -> Callable[..., Told]:
    def one(name: str, board: Board = virtual_board, options: Options | None = None) -> Told:
        return reported(board, compile_npu(board, tmp_path / "npu.elf", name), options)

    return one


def test_a_job_that_never_ends_is_a_timeout_and_a_reset_helps(run: Callable[..., Told]) -> None:
    told = run("npu_hangs.c", options=Options(npu_hangs=1))
    assert told["wait"] == NpuCode.TIMEOUT
    assert told["waited"] == pytest.approx(2.4e9, rel=0.001)
    assert told["touched"] == 0
    assert told["after_reset"] == NpuCode.RESET
    assert (told["next"], told["wrong"], told["outside"]) == (NpuCode.DONE, 0, 0)


def test_a_board_without_an_npu_says_so(run: Callable[..., Told], virtual_board: Board) -> None:
    told = run("npu_hangs.c", replace(virtual_board, npu=None))
    assert told["wait"] == told["after_reset"] == told["next"] == NpuCode.ABSENT
    assert told["touched"] == 0


def test_the_checker_finds_every_mistake_and_nothing_else(virtual_board: Board, tmp_path: Path) -> None:
    """One clean, one wait, one invalidation left out; memory of a job written; by the function that does it."""
    elf = compile_npu(virtual_board, tmp_path / "npu.elf", "npu_mistakes.c")
    with VirtualBoard(virtual_board, elf.path, options=Options(check_races=True)) as board:
        wait_until_finished(board, elf)
        kinds = [finding.kind for finding in board.model_report().findings]
        words = board.races()
    culprits = dict(zip(kinds, words, strict=True))
    assert len(culprits) == len(kinds) == len(NPU_KINDS)
    expected = {
        "dirty-input": "without_clean",
        "early": "without_wait",
        "stale-result": "without_invalidate",
        "input-written": "input_written",
        "result-written": "result_written",
        "dirty-result": "dirty_result",
    }
    assert {kind: name for kind, name in expected.items() if f"{name}+" not in culprits[kind]} == {}
