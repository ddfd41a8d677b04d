# SPDX-License-Identifier: Apache-2.0
"""Runs loops through the pipeline model alone (pipeline_program.c), without an emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model_program import build_with_model


def build_pipeline(folder: Path) -> Path:
    return build_with_model(Path(__file__).parent / "pipeline_program.c", folder / "pipeline_program")


@dataclass(frozen=True, slots=True)
class Steady:
    """Of one iteration, in the steady state."""

    cycles: float
    mispredicted: float


def assemble_loop(program: Path, body: str) -> Path:
    """`body`: instructions separated by ';', to which the counter and the branch back are added. The code's words."""
    source, code = program.with_name("loop.s"), program.with_name("loop.bin")
    lines = [".arch armv8.2-a+dotprod+fp16", "1:", *body.split(";"), "subs x0, x0, #1", "b.ne 1b", ""]
    source.write_text("\n".join(lines), "ascii")
    subprocess.run(["aarch64-linux-gnu-as", source, "-o", program.with_name("loop.o")], check=True, timeout=20)
    copy = ["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", program.with_name("loop.o"), code]
    subprocess.run(copy, check=True, timeout=20)
    return code


def run_loop(program: Path, body: str, outcomes: Sequence[int] = (), iterations: int = 2000, leap: int = 0) -> Steady:
    """The loop of `body` (assemble_loop). `leap`: cycles by which time jumps ahead before what is measured."""
    code = assemble_loop(program, body)
    command = [str(program), f"{iterations}+{leap}", *map(str, outcomes)]
    with code.open("rb") as words:
        output = subprocess.run(command, stdin=words, capture_output=True, text=True, check=True, timeout=60).stdout
    cycles, mispredicted, _ = output.split()
    return Steady(float(cycles) / 100, float(mispredicted) / 100)
