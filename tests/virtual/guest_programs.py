# SPDX-License-Identifier: Apache-2.0
"""Builds the bare-metal test programs of tests/virtual/guest, and reads what they measured."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maxconsole import paths
from maxconsole.boards import Board
from maxconsole.firmware.elf import FirmwareElf, read_elf
from maxconsole.virtual import VirtualBoard

FOLDER = Path(__file__).parent / "guest"
CROSS = "aarch64-linux-gnu-"
TEXT_ADDRESS = 0x8400_1000  # the linker may put headers into the page before
_RESULT_BYTES = 80


def compile_guest(
    board: Board, output: Path, sources: Sequence[Path], *, text_address: int = TEXT_ADDRESS
) -> FirmwareElf:
    """`sources`, start.S before them, linked for `board`."""
    assert board.virtual is not None
    options = ["-std=gnu11", "-mcpu=cortex-a76", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-mstrict-align"]
    options += ["-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-fno-stack-protector"]
    options += ["-fno-tree-loop-distribute-patterns", "-Wl,--build-id=none", "-Wl,-z,max-page-size=4096"]
    options += [f"-Wl,-Ttext={text_address:#x}", f"-I{paths.firmware_dir()}", f"-I{FOLDER}"]
    options += [f"-DDEVICE_PAGE={board.virtual.device_page:#x}"]
    command = [f"{CROSS}gcc", *options, FOLDER / "start.S", *sources, "-o", output]
    subprocess.run(command, check=True, timeout=60)
    return read_elf(output)


@dataclass(frozen=True, slots=True)
class Result:
    """`struct result` of guest.h. `events` is by PMU event number."""

    cycles: int
    instructions: int
    events: dict[int, int]
    watch_accesses: int
    watch_refills: int


def wait_until_finished(board: VirtualBoard, elf: FirmwareElf, seconds: float = 60.0) -> None:
    """Returns when the program's main has."""
    deadline = time.monotonic() + seconds
    flag = board.view(elf.address_of("finished"), 4)
    while not flag[0]:
        board.check()
        assert time.monotonic() < deadline, f"the test program is still at {board.pc:#x}"
        time.sleep(0.005)


def results(board: VirtualBoard, elf: FirmwareElf) -> list[Result]:
    """All results of a program that has finished."""
    symbol = elf.symbols["results"]
    numbers = board.view(symbol.address, symbol.size_bytes).cast("Q").tolist()
    events = [event.number for event in board.board.pmu.events]
    rows = [numbers[at : at + _RESULT_BYTES // 8] for at in range(0, len(numbers), _RESULT_BYTES // 8)]
    return [Result(row[0], row[1], dict(zip(events, row[2:8], strict=True)), row[8], row[9]) for row in rows]
