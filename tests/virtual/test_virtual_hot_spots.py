# SPDX-License-Identifier: Apache-2.0
"""What single instructions cost: loops whose spans are measured by the device page, too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from maxconsole.boards import Board, MemoryRange
from maxconsole.errors import BoardError
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.validation.guest import Result, results, run_guest, wait_until_finished
from maxconsole.virtual import HotSpots, Options, VirtualBoard
from maxconsole.virtual.hot_spots import Spot, read_hot_spots

L1D_REFILL, L2_REFILL = 0x03, 0x17
#: Cycles of a span that are not its loop's: the latches themselves, the call, and draining what is in the pipeline.
LATCH_CYCLES = 60


@dataclass(frozen=True, slots=True)
class Counted:
    results: list[Result]
    spots: HotSpots
    functions: dict[str, Spot]
    addresses: dict[str, int]


@pytest.fixture(scope="module")
def counted(virtual_board: Board, measure_elf: FirmwareElf, tmp_path_factory: pytest.TempPathFactory) -> Counted:
    text = next(part.range for part in measure_elf.sections if part.executable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        with VirtualBoard(virtual_board, measure_elf.path, options=Options(hot_spots=text)) as board:
            wait_until_finished(board, measure_elf)
            spots = board.hot_spots()
            found = results(board, measure_elf)
    starts = sorted((symbol.address, name) for name, symbol in measure_elf.symbols.items() if name in LOOPS)
    return Counted(
        found,
        spots,
        {name: spots.within(start, _size(measure_elf, start)) for start, name in starts},
        {name: start for start, name in starts},
    )


LOOPS = ("sdot_independent", "chase", "prefetched", "strided_loads", "device_reads", "zero_lines")


def _size(elf: FirmwareElf, start: int) -> int:
    """Up to the next of loops.S, which are aligned to 64 bytes."""
    starts = sorted(symbol.address for symbol in elf.symbols.values() if symbol.address > start)
    return starts[0] - start


@pytest.mark.system
def test_counting_instructions_changes_no_modeled_figure(
    virtual_board: Board, measure_elf: FirmwareElf, counted: Counted
) -> None:
    assert run_guest(virtual_board, measure_elf, Options(mode="timed")) == counted.results


@pytest.mark.system
@pytest.mark.parametrize(("function", "index"), [("sdot_independent", 4), ("strided_loads", 8), ("chase", 11)])
def test_the_sum_over_a_functions_instructions_is_its_span(counted: Counted, function: str, index: int) -> None:
    span = counted.results[index].cycles
    assert 0 <= span - counted.functions[function].cycles <= LATCH_CYCLES


@pytest.mark.system
def test_every_instruction_of_a_loop_is_executed_as_often(counted: Counted) -> None:
    start = counted.addresses["sdot_independent"]
    assert [counted.spots.at(start + 4 * index).executions for index in range(18)] == [10000] * 18
    assert counted.spots.at(start + 4 * 18).executions == 1  # RET


@pytest.mark.system
def test_misses_belong_to_the_load_that_made_them(counted: Counted) -> None:
    load = counted.spots.at(counted.addresses["chase"])
    events = counted.results[11].events
    assert abs(load.l1d_refills - events[L1D_REFILL]) <= 2
    assert abs(load.l2_refills - events[L2_REFILL]) <= 2
    assert load.cycles > 0.9 * counted.results[11].cycles


@pytest.mark.system
def test_a_region_smaller_than_a_block_is_enough(virtual_board: Board, measure_elf: FirmwareElf) -> None:
    inside = measure_elf.address_of("sdot_independent") + 8
    options = Options(hot_spots=MemoryRange(inside, 4))
    with VirtualBoard(virtual_board, measure_elf.path, options=options) as board:
        wait_until_finished(board, measure_elf)
        assert board.hot_spots().at(inside).executions == 10000


@pytest.mark.system
def test_a_board_that_does_not_count_says_so(virtual_board: Board, measure_elf: FirmwareElf) -> None:
    with VirtualBoard(virtual_board, measure_elf.path) as board, pytest.raises(BoardError, match="single instructions"):
        board.hot_spots()


def test_counts_of_several_cores_are_added_and_earlier_ones_subtracted(tmp_path: Path) -> None:
    file = tmp_path / "hot-spots"
    header = b"HOTSPOTS" + b"".join(
        number.to_bytes(size, "little") for number, size in ((1, 4), (2, 4), (0x1000, 8), (3, 8), (8, 8), (0, 24))
    )
    file.write_bytes(header + np.arange(24, dtype="<u8").tobytes())
    spots = read_hot_spots(file)
    assert spots.at(0x1004) == Spot(4 + 16, (5 + 17) / 8, 6 + 18, 7 + 19)
    assert spots.total() == spots.at(0x1000) + spots.at(0x1004) + spots.at(0x1008)
    assert spots.at(0x0FFC) == spots.at(0x100C) == Spot()
    assert spots.since(spots).total() == Spot()


@pytest.mark.parametrize("content", [b"", b"HOTSPOTS" + bytes(56), bytes(64), b"HOTSPOTS" + bytes([1]) * 100])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "hot-spots"
    file.write_bytes(content)
    with pytest.raises(BoardError, match="cannot be read"):
        read_hot_spots(file)
