# SPDX-License-Identifier: Apache-2.0
"""Mode `fast` of the timing model: loops whose counts are known, and the limits of the hardware it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest
from guest_programs import compile_loops

from maxconsole.boards import Board, load_board
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.validation.guest import Result, run_guest, wait_until_finished
from maxconsole.virtual import Options, VirtualBoard

pytestmark = pytest.mark.system

L1D_REFILL, L1D_ACCESS, L2_REFILL, L2_ACCESS, STALL = 0x03, 0x04, 0x17, 0x16, 0x24
MIB = 1 << 20
FAST = Options(mode="fast")
LINE = 64


@pytest.fixture(scope="module")
def measured(virtual_board: Board, measure_elf: FirmwareElf, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        return run_guest(virtual_board, measure_elf, FAST)


def bytes_per_cycle(board: Board) -> float:
    assert board.dram.effective_bytes_per_s is not None
    assert board.cpu.clock_hz is not None
    return board.dram.effective_bytes_per_s / board.cpu.clock_hz


def bytes_written_per_cycle(board: Board) -> float:
    assert board.cpu.clock_hz is not None
    return board.dram.write_bytes_per_s[0] / board.cpu.clock_hz


def test_counts_are_identical_over_runs_although_idle_times_are_not(
    virtual_board: Board, measure_elf: FirmwareElf, measured: list[Result]
) -> None:
    assert run_guest(virtual_board, measure_elf, FAST) == measured
    assert run_guest(virtual_board, measure_elf, FAST) == measured


def test_instructions_are_exact(measured: list[Result]) -> None:
    assert measured[2].instructions - measured[1].instructions == 6 * 1000


def test_a_latch_counts_up_to_its_own_store_in_the_middle_of_a_block(measured: list[Result]) -> None:
    assert measured[3].instructions == 5


def test_a_device_access_in_the_middle_of_a_block_counts_nothing_twice(measured: list[Result]) -> None:
    assert measured[30].instructions - measured[29].instructions == 6 * 100


def test_independent_adds_run_at_the_issue_width(measured: list[Result]) -> None:
    # 5 integer operations on 3 pipes: 5/3 cycles an iteration
    assert measured[2].cycles - measured[1].cycles == pytest.approx(1000 * 5 / 3, rel=0.01)


def test_sdot_does_not_exceed_32_multiply_accumulates_per_cycle(measured: list[Result]) -> None:
    rate = 10000 * 256 / measured[4].cycles
    assert 31 < rate <= 32


@pytest.mark.parametrize("index", [5, 6], ids=["LDP", "LD1"])
def test_a_stream_does_not_exceed_the_memory_bandwidth(
    measured: list[Result], virtual_board: Board, index: int
) -> None:
    rate = 8 * MIB / measured[index].cycles
    limit = bytes_per_cycle(virtual_board)
    assert 0.95 * limit < rate <= limit


@pytest.mark.parametrize("index", [5, 6], ids=["LDP", "LD1"])
def test_the_prefetcher_hides_the_misses_of_a_stream(measured: list[Result], index: int) -> None:
    events = measured[index].events
    assert events[L1D_ACCESS] == pytest.approx(4 * 8 * MIB / LINE, abs=20)
    assert events[L1D_REFILL] < 20
    assert events[L2_ACCESS] >= 8 * MIB / LINE - 16


def test_whole_lines_are_stored_without_reading_them_first(measured: list[Result], virtual_board: Board) -> None:
    # What was written, less what L2 may still hold, has gone over the bus once; reading it too would double that.
    cycles = measured[7].cycles * bytes_written_per_cycle(virtual_board)
    assert 8 * MIB - virtual_board.caches.l2.size_bytes <= cycles < 1.1 * 8 * MIB


def test_strided_loads_are_prefetched(measured: list[Result]) -> None:
    assert measured[8].events[L1D_REFILL] < 20


def test_what_fits_l1d_does_not_miss(measured: list[Result]) -> None:
    assert measured[9].events[L1D_REFILL] == 0
    assert measured[9].events[L2_ACCESS] == 0
    assert measured[9].events[STALL] == 0


def test_what_fits_l2_does_not_reach_memory(measured: list[Result]) -> None:
    assert measured[10].events[L2_REFILL] == 0
    assert measured[10].events[L2_ACCESS] >= 262144 / LINE


def test_dependent_misses_cost_the_memory_latency_each(measured: list[Result], virtual_board: Board) -> None:
    assert virtual_board.dram.latency_ns is not None
    assert virtual_board.cpu.clock_hz is not None
    latency = virtual_board.dram.latency_ns * virtual_board.cpu.clock_hz / 1e9
    assert measured[11].events[L2_REFILL] >= 10000
    assert measured[11].cycles / 10000 == pytest.approx(latency, rel=0.03)


def test_prfm_brings_lines_in_ahead_of_their_use(measured: list[Result]) -> None:
    assert measured[12].events[L1D_REFILL] < 20


def test_dc_zva_allocates_without_a_miss(measured: list[Result], virtual_board: Board) -> None:
    assert measured[13].events[L1D_REFILL] == 0
    assert (
        measured[13].cycles * bytes_written_per_cycle(virtual_board)
        < 1.1 * 10000 * LINE + virtual_board.caches.l2.size_bytes
    )


def test_the_watched_region_is_counted_apart(measured: list[Result]) -> None:
    assert measured[14].watch_accesses == 8192 / 16
    assert measured[15].watch_accesses == 0
    assert measured[16].watch_accesses == 0


def test_idle_time_leaves_no_trace(measured: list[Result]) -> None:
    spans = measured[20:28]
    assert {span.instructions for span in spans} == {spans[0].instructions}
    assert max(span.cycles for span in spans) - min(span.cycles for span in spans) <= 1
    assert {span.events[L1D_REFILL] for span in spans} == {0}


def test_nothing_is_modeled_from_a_pause_to_the_next_latch(measured: list[Result]) -> None:
    assert measured[31].instructions <= measured[0].instructions
    assert measured[31].events[L1D_ACCESS] <= measured[0].events[L1D_ACCESS]


def test_reading_the_device_page_is_not_counted(measured: list[Result]) -> None:
    # What remains of an empty span are the stores of the sample's copy on the stack.
    assert measured[0].events[L1D_ACCESS] <= 10


def test_every_derived_address_is_the_real_one(virtual_board: Board, measure_elf: FirmwareElf) -> None:
    with VirtualBoard(virtual_board, measure_elf.path, options=Options(mode="fast", verify=True)) as virtual:
        wait_until_finished(virtual, measure_elf)
        virtual.halt()
        report = virtual.model_report()
    assert report.addresses_verified > 100_000
    assert report.addresses_mismatched == 0
    assert report.undecoded_sites == 0
    assert report.unresolved_prefetch_sites == 0  # also where a page ends between PRFM and what it is for


def test_the_limits_hold_on_a_board_with_l3(tmp_path: Path) -> None:
    board = load_board("rpi5-virtual")
    elf = compile_loops(board, tmp_path / "measure.elf")
    measured = run_guest(board, elf, FAST)
    limit = bytes_per_cycle(board)
    assert 31 < 10000 * 256 / measured[4].cycles <= 32
    for index in (5, 6):
        assert 0.95 * limit < 8 * MIB / measured[index].cycles <= limit
    assert measured[10].events[L2_REFILL] == 0
