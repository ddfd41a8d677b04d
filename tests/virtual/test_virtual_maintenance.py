# SPDX-License-Identifier: Apache-2.0
"""Mode `timed`: cache maintenance and DC ZVA cost what they move, in loops where no access gives their address away."""

from __future__ import annotations

import pytest

from maxconsole.boards import Board
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.validation.guest import Result, run_guest
from maxconsole.virtual import Options

pytestmark = pytest.mark.system

L2_REFILL, BUS_READ = 0x17, 0x60
LINES, LINE = 2048, 64
BYTES = LINES * LINE


@pytest.fixture(scope="module")
def measured(virtual_board: Board, measure_elf: FirmwareElf, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        return run_guest(virtual_board, measure_elf, Options(mode="timed"))


def cycles(board: Board, bytes_per_s: float | None) -> float:
    """What BYTES take at that rate."""
    assert board.cpu.clock_hz is not None
    assert bytes_per_s is not None
    return BYTES * board.cpu.clock_hz / bytes_per_s


def test_lines_are_cleared_without_being_read(measured: list[Result], virtual_board: Board) -> None:
    assert measured[17].events[L2_REFILL] < LINES / 100
    assert measured[17].cycles < cycles(virtual_board, virtual_board.dram.effective_bytes_per_s)


def test_dirty_lines_are_cleaned_at_the_rate_of_writes(measured: list[Result], virtual_board: Board) -> None:
    least = cycles(virtual_board, virtual_board.dram.write_bytes_per_s[0])
    assert 0.95 * least < measured[18].cycles < 1.1 * least


def test_clean_lines_stay_and_cost_little_more_than_their_instructions(measured: list[Result]) -> None:
    assert measured[19].cycles < 4 * LINES
    assert measured[32].events[L2_REFILL] == 0


def test_invalidated_lines_are_read_again(measured: list[Result], virtual_board: Board) -> None:
    least = cycles(virtual_board, virtual_board.dram.effective_bytes_per_s)
    assert 0.9 * least < measured[34].cycles < 1.2 * least
    assert measured[32].cycles < 0.6 * measured[34].cycles
