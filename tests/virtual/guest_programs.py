# SPDX-License-Identifier: Apache-2.0
"""The bare-metal test programs of tests/virtual/guest."""

from __future__ import annotations

from pathlib import Path

from maxconsole import paths
from maxconsole.boards import Board
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.validation.guest import compile_guest, wait_until_finished
from maxconsole.virtual import Options, VirtualBoard

FOLDER = Path(__file__).parent / "guest"


NPU_SOURCES = (
    "hal/npu.c",
    "arch/cache.c",
    "arch/string.S",
    "kernels/pack.c",
    "kernels/reference/linear_ref.c",
    "kernels/reference/weights_ref.c",
)
"""Of the firmware, that test programs of the NPU are made of."""


def compile_npu(board: Board, output: Path, name: str) -> FirmwareElf:
    """The test program `name` with the NPU's driver."""
    sources = [FOLDER / name, FOLDER / "npu_jobs.c", *(paths.firmware_dir() / source for source in NPU_SOURCES)]
    return compile_guest(board, output, sources, include=FOLDER)


def reported(board: Board, elf: FirmwareElf, options: Options | None = None) -> dict[str, int]:
    """Runs a test program of the NPU to its end: what it tells, by name."""
    with VirtualBoard(board, elf.path, options=options) as virtual:
        wait_until_finished(virtual, elf, 120)
        return told_by(virtual, elf)


def told_by(virtual: VirtualBoard, elf: FirmwareElf) -> dict[str, int]:
    symbol = elf.symbols["report"]
    text = bytes(virtual.view(symbol.address, symbol.size_bytes)).split(b"\0")[0].decode()
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}


def compile_loops(board: Board, output: Path) -> FirmwareElf:
    """loops.S and measure.c."""
    return compile_guest(board, output, [FOLDER / name for name in ("loops.S", "measure.c")])
