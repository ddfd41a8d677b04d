# SPDX-License-Identifier: Apache-2.0
"""Bare-metal programs that measure themselves by the device page: built, run, and their results read.

A program is start.S and guest.h of firmware/validation, and sources with a `main` that fills `results`.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maxconsole import paths
from maxconsole.boards import Board
from maxconsole.errors import BoardError, ToolMissing, UserError
from maxconsole.firmware.elf import FirmwareElf, read_elf
from maxconsole.virtual import Options, VirtualBoard

CROSS = "aarch64-linux-gnu-"
_RESULT_BYTES = 80


@dataclass(frozen=True, slots=True)
class Result:
    """`struct result` of guest.h. `events` is by PMU event number."""

    cycles: int
    instructions: int
    events: dict[int, int]
    watch_accesses: int
    watch_refills: int
    model_version: int


def text_address(board: Board) -> int:
    """Where programs for `board` are linked to: behind the memory that its profile reserves."""
    return board.memory.usable[0].base + 0x1000  # the linker may put headers into the page before


def compile_guest(
    board: Board, output: Path, sources: Sequence[Path], *, address: int | None = None, include: Path | None = None
) -> FirmwareElf:
    """`sources`, start.S before them, linked for `board`; their headers may be in `include`, too.

    Raises ToolMissing, and UserError with what gcc says.
    """
    if board.virtual is None:
        raise UserError(f"{board.name} is not a virtual board")
    shared = paths.firmware_dir() / "validation"
    options = ["-std=gnu11", "-mcpu=cortex-a76", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-mstrict-align"]
    options += ["-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-fno-stack-protector"]
    options += ["-fno-tree-loop-distribute-patterns", "-Wl,--build-id=none", "-Wl,-z,max-page-size=4096"]
    options += [f"-Wl,-Ttext={text_address(board) if address is None else address:#x}"]
    options += [f"-I{paths.firmware_dir()}", f"-I{shared}", f"-DDEVICE_PAGE={board.virtual.device_page:#x}"]
    if include is not None:
        options.append(f"-I{include}")
    command = [f"{CROSS}gcc", *options, str(shared / "start.S"), *map(str, sources), "-o", str(output)]
    try:
        subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ToolMissing(f"{CROSS}gcc is not installed", hint="sudo apt install gcc-aarch64-linux-gnu") from error
    except subprocess.CalledProcessError as error:
        raise UserError(f"the program does not compile:\n{error.stderr[-4000:]}") from error
    return read_elf(output)


def wait_until_finished(board: VirtualBoard, elf: FirmwareElf, seconds: float = 60.0) -> None:
    """Returns when the program's main has. Raises BoardError where QEMU ends, or after `seconds`."""
    deadline = time.monotonic() + seconds
    flag = board.view(elf.address_of("finished"), 4)
    while not flag[0]:
        board.check()
        if time.monotonic() > deadline:
            raise BoardError(f"the program {elf.path.name} is still at {board.pc:#x} after {seconds:.0f} s")
        time.sleep(0.005)


def results(board: VirtualBoard, elf: FirmwareElf) -> list[Result]:
    """All results of a program that has finished."""
    symbol = elf.symbols["results"]
    numbers = board.view(symbol.address, symbol.size_bytes).cast("Q").tolist()
    events = [event.number for event in board.board.pmu.events]
    rows = [numbers[at : at + _RESULT_BYTES // 8] for at in range(0, len(numbers), _RESULT_BYTES // 8)]
    version = board.device_page().model_version
    return [Result(row[0], row[1], dict(zip(events, row[2:8], strict=True)), row[8], row[9], version) for row in rows]


def run_guest(board: Board, elf: FirmwareElf, options: Options | None = None, *, seconds: float = 60.0) -> list[Result]:
    """Runs the program to its end."""
    with VirtualBoard(board, elf.path, options=options) as virtual:
        wait_until_finished(virtual, elf, seconds)
        return results(virtual, elf)
