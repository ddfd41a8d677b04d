# SPDX-License-Identifier: Apache-2.0
"""Small pieces of assembly, taken apart like a function of the firmware."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from maxconsole.inspection.code import Instruction, disassemble
from maxconsole.inspection.figures import LoopFigures, count_loop
from maxconsole.inspection.loops import Loop, find_blocks, find_loops
from maxconsole.inspection.model import consult
from maxconsole.inspection.stack import stack_accesses

ADDRESS = 0x8000


@dataclass(frozen=True, slots=True)
class Piece:
    instructions: tuple[Instruction, ...]
    loops: tuple[Loop, ...]
    figures: tuple[LoopFigures, ...]
    on_stack: frozenset[int]


def assemble(text: str) -> bytes:
    """Machine code of `text`, whose instructions stand on lines or between semicolons."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "piece.s").write_text(".arch armv8.2-a+dotprod\n" + text.replace(";", "\n") + "\n", "ascii")
        subprocess.run(["aarch64-linux-gnu-as", "piece.s", "-o", "piece.o"], cwd=folder, check=True, timeout=20)
        copy = ["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", "piece.o", "piece.bin"]
        subprocess.run(copy, cwd=folder, check=True, timeout=20)
        return (folder / "piece.bin").read_bytes()


def take_apart(text: str) -> Piece:
    code = assemble(text)
    instructions = disassemble(code, ADDRESS)
    loops = find_loops(instructions)
    (model,) = consult([(code, loops)])
    on_stack = stack_accesses(instructions, model.traits, find_blocks(instructions))
    figures = [
        count_loop(loop, bound, instructions, model.traits, on_stack)
        for loop, bound in zip(loops, model.bounds, strict=True)
    ]
    return Piece(instructions, loops, tuple(figures), on_stack)
