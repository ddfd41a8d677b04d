# SPDX-License-Identifier: Apache-2.0
"""Runs loops through the pipeline model alone (pipeline_program.c), without an emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maxconsole import paths
from maxconsole.virtual.compiler import find_compiler

#: What belongs to the emulator, and to what is told of it.
_NOT_THE_MODEL = {"plugin.c", "device_page.c", "report.c", "sync.c"}


def build_pipeline(folder: Path) -> Path:
    virtual = paths.firmware_dir() / "virtual"
    sources = [file for file in sorted(virtual.glob("*.c")) if file.name not in _NOT_THE_MODEL]
    sources = [file for file in sources if not file.name.startswith("user")]
    command = [*find_compiler().command, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{paths.firmware_dir()}", str(Path(__file__).parent / "pipeline_program.c"), *map(str, sources)]
    subprocess.run([*command, "-o", folder / "pipeline_program", "-lpthread"], check=True, timeout=120)
    return folder / "pipeline_program"


@dataclass(frozen=True, slots=True)
class Steady:
    """Of one iteration, in the steady state."""

    cycles: float
    mispredicted: float


def run_loop(program: Path, body: str, outcomes: Sequence[int] = (), iterations: int = 2000) -> Steady:
    """`body`: instructions separated by ';', to which the counter and the branch back are added."""
    source, code = program.with_name("loop.s"), program.with_name("loop.bin")
    lines = [".arch armv8.2-a+dotprod+fp16", "1:", *body.split(";"), "subs x0, x0, #1", "b.ne 1b", ""]
    source.write_text("\n".join(lines), "ascii")
    subprocess.run(["aarch64-linux-gnu-as", source, "-o", program.with_name("loop.o")], check=True, timeout=20)
    copy = ["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", program.with_name("loop.o"), code]
    subprocess.run(copy, check=True, timeout=20)
    command = [program, str(iterations), *map(str, outcomes)]
    with code.open("rb") as words:
        output = subprocess.run(command, stdin=words, capture_output=True, text=True, check=True, timeout=60).stdout
    cycles, mispredicted, _ = output.split()
    return Steady(float(cycles) / 100, float(mispredicted) / 100)
