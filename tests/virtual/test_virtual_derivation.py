# SPDX-License-Identifier: Apache-2.0
"""Most addresses are derived, not observed (firmware/virtual/block.h). Here every one is compared with the real one."""

from __future__ import annotations

from pathlib import Path

import guest_programs
import pytest
from random_program import program

from maxconsole.boards import Board
from maxconsole.virtual import Options, VirtualBoard

pytestmark = pytest.mark.system


@pytest.mark.parametrize("seed", range(4))
def test_derived_addresses_are_right_for_random_code(virtual_board: Board, tmp_path: Path, seed: int) -> None:
    source = tmp_path / "random.S"
    source.write_text(program(seed), "ascii")
    elf = guest_programs.compile_guest(
        virtual_board, tmp_path / "random.elf", [guest_programs.FOLDER / "randomized.c", source]
    )
    with VirtualBoard(virtual_board, elf.path, options=Options(verify=True)) as virtual:
        guest_programs.wait_until_finished(virtual, elf)
        virtual.halt()
        report = virtual.model_report()
    assert report.addresses_verified > 3000
    assert report.addresses_mismatched == 0
    assert report.undecoded == ()
