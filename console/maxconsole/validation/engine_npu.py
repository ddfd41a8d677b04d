# SPDX-License-Identifier: Apache-2.0
"""E6 and E10: prefill with the NPU against llama.cpp on four cores, and how well NPU and cores overlap.

On aimax395-virtual, whose clock, memory speed and NPU are assumed: see the profile.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from maxconsole.boards import load_board
from maxconsole.session.route import USUAL, NpuMode
from maxconsole.validation.check import AtLeast, AtMost, Bench, Check, Group, Outcome, Row
from maxconsole.validation.engine_llama import file_of
from maxconsole.validation.engine_runs import Prompt, run
from maxconsole.validation.llama_build import REPACKED
from maxconsole.validation.llama_layers import SomeLayers, whole_file
from maxconsole.validation.llama_runs import Job

BOARD = "aimax395-virtual"
_TOKENS = 320
_CORES = 4
_LENGTHS = (2, 4, 8, 16, 32, 64, 128, 320, 1024)
_MODES: Final[tuple[NpuMode, ...]] = ("off", "pv", "linear", "all")


def _prompt(tokens: int = _TOKENS, mode: NpuMode = "linear") -> Prompt:
    route = replace(USUAL, npu=mode, npu_f16=mode in ("linear", "all"))
    return Prompt(tokens, model=file_of("Q4_0"), cores=_CORES, board=BOARD, route=route)


def _against_llama(bench: Bench) -> Outcome:
    job = Job(REPACKED, SomeLayers(file_of("Q4_0"), ()), _CORES, prompt=_TOKENS, board=BOARD)
    theirs = whole_file(bench, job)["cycles"] / _TOKENS / 1e6
    ours = run(bench, _prompt())["prefill"] / _TOKENS / 1e6
    alone = run(bench, _prompt(mode="off"))["prefill"] / _TOKENS / 1e6
    rows = (
        AtLeast(f"{_TOKENS} tokens, {_CORES} cores and NPU", "x", theirs / ours, 10, "target; the article: 6.01"),
        Row("the same without NPU", "x", theirs / alone, None, ""),
    )
    cycles = tuple(
        Row(name, "Mcycles/token", value, None, "")
        for name, value in (("with NPU", ours), ("without", alone), (f"llama.cpp, {_CORES} threads", theirs))
    )
    return Outcome(
        (Group("ratio", rows), Group("cycles", cycles, required=0)),
        ("Matrix products on the NPU, results of fp16.",),
    )


def _overlap(bench: Bench) -> Outcome:
    found = run(bench, _prompt())
    rows = (
        AtMost("time over the largest bound", "x", found["npu.ratio"], 1.15, "target"),
        AtLeast("overlap", "%", 100 * found["npu.overlap"], 92, "target; the article: 94 %"),
        Row("NPU in use", "%", 100 * found["npu.use"], None, ""),
        *(
            Row(f"bound: {what}", "Mcycles", found[f"npu.{name}_bound"] / 1e6, None, "")
            for what, name in (("NPU", "npu"), ("cores", "core"), ("memory bus", "bus"))
        ),
    )
    groups = [Group(f"{_TOKENS} tokens", rows)]
    if not bench.quick:
        groups += [Group("start-up of a job", _startups(bench), required=0), Group("modes", _modes(bench), required=0)]
    return Outcome(
        tuple(groups),
        (
            "Bounds: multiply-accumulates at the NPU's rate, the cores' work shared out evenly, all bytes at the best "
            "that the bus gives. Overlap: both busy, of the shorter of the two, mean over the cores.",
        ),
    )


def _startups(bench: Bench) -> tuple[Row, ...]:
    board = load_board(BOARD)
    assumed = board.need("npu.startup_cycles", board.npu.startup_cycles if board.npu else None)
    return tuple(
        Row(
            f"{cycles} cycles (assumed)",
            "Mcycles",
            run(bench, replace(_prompt(), startup=cycles))["prefill"] / 1e6,
            None,
            "",
        )
        for cycles in (assumed // 2, assumed, 2 * assumed)
    )


def _modes(bench: Bench) -> tuple[Row, ...]:
    """By the prompt's length; the last rows say from where on a mode pays, if it does."""
    rows: list[Row] = []
    pays: dict[NpuMode, int] = {}
    for tokens in _LENGTHS:
        took: dict[NpuMode, float] = {mode: run(bench, _prompt(tokens, mode))["prefill"] for mode in _MODES}
        rows += [Row(f"{tokens} tokens, {mode}", "kcycles/token", took[mode] / tokens / 1e3, None, "") for mode in took]
        for mode in _MODES[1:]:
            if took[mode] < took["off"]:
                pays.setdefault(mode, tokens)
            else:
                pays.pop(mode, None)
    gains = (
        Row(f"{mode} is quicker than off from", "tokens", float(tokens), None, "") for mode, tokens in pays.items()
    )
    return (*rows, *gains)


E6 = Check("E6", "prefill with the NPU against llama.cpp on four cores, Q4_0, repacked", _against_llama)
E10 = Check("E10", "how well the NPU and the cores overlap", _overlap)
