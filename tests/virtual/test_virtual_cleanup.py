# SPDX-License-Identifier: Apache-2.0
"""What is left of a board when its console ends, in every way there is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulator_processes import emulators, until

from maxconsole import paths
from maxconsole.boards import Board
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.virtual import Options, VirtualBoard
from maxconsole.virtual.runs import RunFolder

pytestmark = pytest.mark.system


@contextlib.contextmanager
def console(elf: FirmwareElf, *, timing: bool) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another console with a live board, and the board's folder."""
    script = Path(__file__).parent / "console_process.py"
    command = [sys.executable, script, elf.path, str(int(timing))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        try:
            assert emulators(folder)
            yield process, folder
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_console_that_is_asked_to_end_leaves_nothing(steady_elf: FirmwareElf, number: signal.Signals) -> None:
    with console(steady_elf, timing=True) as (process, folder):
        process.send_signal(number)
        assert process.wait(10) != 0
        assert emulators(folder) == []
        assert not folder.exists()


def test_the_emulator_dies_with_a_console_that_is_killed(steady_elf: FirmwareElf) -> None:
    with console(steady_elf, timing=True) as (process, folder):
        process.kill()
        process.wait(10)
        until(lambda: emulators(folder) == [], 2)
        assert folder.exists()
        RunFolder().remove()
        assert not folder.exists()


def test_the_next_start_ends_an_emulator_that_was_left(virtual_board: Board, steady_elf: FirmwareElf) -> None:
    with console(steady_elf, timing=False) as (process, folder):
        process.kill()
        process.wait(10)
        assert emulators(folder), "without the plug-in it outlives its console"
        with VirtualBoard(virtual_board, steady_elf.path, options=Options(timing=False)):
            assert emulators(folder) == []
            assert not folder.exists()


def test_the_next_start_leaves_boards_alone_that_live(virtual_board: Board, steady_elf: FirmwareElf) -> None:
    with console(steady_elf, timing=True) as (process, folder):
        with VirtualBoard(virtual_board, steady_elf.path, options=Options(timing=False)):
            pass
        assert emulators(folder)
        assert process.poll() is None


def test_a_process_that_only_has_the_same_number_is_spared() -> None:
    folder = paths.runtime_dir() / "board-crashed"
    folder.mkdir(mode=0o700)
    (folder / "lock").touch()
    (folder / "process").write_text(f"{os.getpid()} 12345\n")
    RunFolder().remove()
    assert not folder.exists()


def test_what_is_not_a_run_folder_is_spared(runtime_folder: Path) -> None:
    target = runtime_folder / "precious"
    target.mkdir()
    (target / "lock").touch()
    (paths.runtime_dir() / "board-link").symlink_to(target)
    other = paths.runtime_dir() / "something-else"
    other.mkdir()
    RunFolder().remove()
    assert (target / "lock").exists()
    assert other.exists()
