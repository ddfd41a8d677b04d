# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from guest_programs import FOLDER, compile_loops

from maxconsole.boards import Board, load_board
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.validation.guest import compile_guest


@pytest.fixture(scope="session")
def virtual_board() -> Board:
    return load_board("aimax395-virtual")


@pytest.fixture(scope="session")
def measure_elf(virtual_board: Board, tmp_path_factory: pytest.TempPathFactory) -> FirmwareElf:
    return compile_loops(virtual_board, tmp_path_factory.mktemp("guest") / "measure.elf")


@pytest.fixture(scope="session")
def steady_elf(virtual_board: Board, tmp_path_factory: pytest.TempPathFactory) -> FirmwareElf:
    return compile_guest(virtual_board, tmp_path_factory.mktemp("guest") / "steady.elf", [FOLDER / "steady.c"])


@pytest.fixture(autouse=True)
def runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run folders of this test alone."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder
