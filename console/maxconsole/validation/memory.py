# SPDX-License-Identifier: Apache-2.0
"""F7: latency of each cache level, bandwidth on 1, 2 and 4 cores, and the cost of a mispredicted branch.

The constants of the model were calibrated with these figures, and with no others.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from maxconsole import paths
from maxconsole.boards import Board, load_board
from maxconsole.validation.check import Bench, Check, Group, Outcome, Row
from maxconsole.validation.guest import compile_guest, run_guest
from maxconsole.validation.store import Figures
from maxconsole.virtual import Options

_BOARD = "rpi5-virtual"
_LOADS = 20_000  # as in memory.c, like all below

_STREAM_BYTES = 16 << 20
_BRANCHES = 40_000
_LEVELS = ("L1D", "L2", "L3", "DRAM")
TEAMS = (1, 2, 4)
_TOLERANCE = 0.05

_RAMLAT = "sbc-bench, ramlat"
_READ = "arm-learning-paths, llm-decode-roofline"
_MEMBENCH = "sbc-bench, tinymembench, firmware 2025-01"


def measure(board: Board) -> Figures:
    """Cycles of a load from each level and of a mispredicted branch; GB/s by number of cores."""
    folder = paths.firmware_dir() / "validation"
    with tempfile.TemporaryDirectory() as scratch:
        sources = [folder / "memory_loops.S", folder / "memory.c"]
        elf = compile_guest(board, Path(scratch) / "memory.elf", sources)
        found = run_guest(board, elf, Options(cores=4), seconds=600)
    hz = board.need("cpu.clock_hz", board.cpu.clock_hz)
    results = iter(found)
    figures: Figures = {"model version": found[0].model_version}
    for level in _LEVELS:
        figures[level] = next(results).cycles / _LOADS
    figures["DRAM ns"] = figures["DRAM"] / hz * 1e9
    for kind in ("read", "write", "copy"):
        for cores in TEAMS:
            figures[f"{kind} {cores}"] = cores * _STREAM_BYTES / next(results).cycles * hz / 1e9
    predictable, random = next(results).cycles, next(results).cycles
    figures["branch"] = (random - predictable) / (_BRANCHES / 2)
    return figures


def _figures(bench: Bench) -> Figures:
    folder = paths.firmware_dir() / "validation"
    programs = [folder / name for name in ("memory_loops.S", "memory.c", "start.S", "guest.h")]
    profiles = [paths.profiles_dir() / "boards" / f"{name}.toml" for name in ("rpi5", _BOARD)]
    return bench.store.figures("memory", [*programs, *profiles], lambda: measure(load_board(_BOARD)))


def read_rates(bench: Bench) -> dict[int, float]:
    """GB/s that 1, 2 and 4 cores read."""
    figures = _figures(bench)
    return {cores: figures[f"read {cores}"] for cores in TEAMS}


def run(bench: Bench) -> Outcome:
    figures = _figures(bench)

    def row(key: str, name: str, unit: str, reference: float | None, source: str, *, why: str = "") -> Row:
        return Row(name, unit, figures[key], reference, source, _TOLERANCE, why)

    latency = (
        row("L1D", "L1D, 32 KB", "cycles", 4.0, _RAMLAT),
        row("L2", "L2, 256 KB", "cycles", 12.0, _RAMLAT),
        row("L3", "L3, 1 MB", "cycles", 41.0, _RAMLAT),
        row("DRAM ns", "DRAM, 128 MB", "ns", 116.0, _RAMLAT),
    )
    read = tuple(
        row(f"read {cores}", f"read, {cores} cores", "GB/s", rate, _READ)
        for cores, rate in zip(TEAMS, (13.8, 12.6, 10.7), strict=True)
    )
    one = (
        row("write 1", "write, 1 core", "GB/s", 9.99, _MEMBENCH, why="memset"),
        row("copy 1", "copy, 1 core", "GB/s", 6.03, _MEMBENCH, why="memcpy; copied bytes count once"),
    )
    shared = (
        row("write 2", "write, 2 cores", "GB/s", None, "not published"),
        row("write 4", "write, 4 cores", "GB/s", None, "not published"),
        row("copy 2", "copy, 2 cores", "GB/s", None, "not published"),
        row("copy 4", "copy, 4 cores", "GB/s", 6.03 * 6.19 / 10.22, "the one-core figure times STREAM's 4:1 ratio"),
    )
    branch = (row("branch", "mispredicted branch", "cycles", 16.5, "Pi 5 probes: 15 to 18; documented minimum 11"),)
    return Outcome(
        (
            Group("load to use", latency),
            Group("bandwidth", (*read, *one, *shared)),
            Group("branch penalty: 15 to 18 cycles", branch),
        )
    )


CHECK = Check("F7", "latency, bandwidth and branch penalty against a Raspberry Pi 5", run)
