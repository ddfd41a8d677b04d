# SPDX-License-Identifier: Apache-2.0
"""Runs small loops on the virtual board: bare metal, the real plug-in under the real emulator."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maxconsole import paths
from maxconsole.boards import load_board
from maxconsole.validation.guest import compile_guest, run_guest
from maxconsole.validation.loop_programs import ARCHITECTURE, Loop
from maxconsole.virtual import Options

BOARD = "rpi5-virtual"
LOOPS_MAX = 32  # at once: loops.c has room for as many results


@dataclass(frozen=True, slots=True)
class Run:
    """`cycles` an iteration by loop; `instructions` that were measured; `cpu_seconds` of the emulator in all."""

    cycles: dict[str, float]
    instructions: int
    cpu_seconds: float


def run_loops(loops: Sequence[Loop], iterations: int, *, board_name: str = BOARD, seconds: float = 120.0) -> Run:
    """Raises ToolMissing without a cross compiler or an emulator, UserError and BoardError where they fail."""
    assert len(loops) <= LOOPS_MAX
    board = load_board(board_name)
    with tempfile.TemporaryDirectory(prefix="maxconsole-loops-") as scratch:
        source = Path(scratch) / "loops.S"
        source.write_text(program(loops, iterations), "ascii")
        elf = compile_guest(
            board, Path(scratch) / "loops.elf", [source, paths.firmware_dir() / "validation" / "loops.c"]
        )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        results = run_guest(board, elf, Options(mode="timed"), seconds=seconds)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    pairs = list(zip(results[0::2], results[1::2], strict=True))[: len(loops)]
    cycles = {
        loop.name: (more.cycles - few.cycles) / iterations for loop, (few, more) in zip(loops, pairs, strict=True)
    }
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(cycles, sum(few.instructions + more.instructions for few, more in pairs), cpu)


def program(loops: Sequence[Loop], iterations: int) -> str:
    """Assembly: a function for each loop, and the table of them. The loops begin at 64 bytes."""
    lines = [ARCHITECTURE]
    for number, loop in enumerate(loops):
        lines += [f"loop{number}:", "stp d8, d9, [sp, #-64]!"]
        lines += [f"stp d{n}, d{n + 1}, [sp, #{(n - 8) * 8}]" for n in (10, 12, 14)]
        lines += [".balign 64", loop.assembly]
        lines += [f"ldp d{n}, d{n + 1}, [sp, #{(n - 8) * 8}]" for n in (10, 12, 14)]
        lines += ["ldp d8, d9, [sp], #64", "ret"]
    lines += [".section .rodata", ".balign 8", ".global loops, iterations", "loops:"]
    lines += [f".quad loop{number}" for number in range(len(loops))]
    lines += [".quad 0", f"iterations: .quad {iterations}", ""]
    return "\n".join(lines)
