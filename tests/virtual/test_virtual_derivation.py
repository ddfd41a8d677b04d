# SPDX-License-Identifier: Apache-2.0
"""Most addresses are derived, not observed (firmware/virtual/block.h). Here every one is compared with the real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from guest_programs import FOLDER
from random_program import program

from maxconsole.boards import Board
from maxconsole.validation.guest import compile_guest, wait_until_finished
from maxconsole.virtual import Options, VirtualBoard

pytestmark = pytest.mark.system


@pytest.mark.parametrize("seed", range(4))
def test_derived_addresses_are_right_for_random_code(virtual_board: Board, tmp_path: Path, seed: int) -> None:
    source = tmp_path / "random.S"
    source.write_text(program(seed), "ascii")
    elf = compile_guest(virtual_board, tmp_path / "random.elf", [FOLDER / "randomized.c", source])
    with VirtualBoard(virtual_board, elf.path, options=Options(verify=True)) as virtual:
        wait_until_finished(virtual, elf)
        virtual.halt()
        report = virtual.model_report()
    assert report.addresses_verified > 3000
    assert report.addresses_mismatched == 0
    assert report.undecoded == ()
