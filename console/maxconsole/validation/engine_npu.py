# SPDX-License-Identifier: Apache-2.0
"""E6 and E10: prefill with the NPU against llama.cpp on four cores, and how well NPU and cores overlap.

On aimax395-virtual, whose clock, memory speed and NPU are assumed: see the profile.
"""

from __future__ import annotations

from dataclasses import replace

from maxconsole.boards import load_board
from maxconsole.session.route import USUAL, Route
from maxconsole.validation.check import AtLeast, AtMost, Bench, Check, Group, Outcome, Row
from maxconsole.validation.engine_llama import file_of
from maxconsole.validation.engine_runs import Prompt, run
from maxconsole.validation.llama_build import REPACKED
from maxconsole.validation.llama_layers import SomeLayers, whole_file
from maxconsole.validation.llama_runs import Job

BOARD = "aimax395-virtual"
_TOKENS = 320
_CORES = 4
_LENGTHS = (2, 4, 8, 16, 32, 64, 128, 320)


def _prompt(tokens: int = _TOKENS, *, npu: bool = True) -> Prompt:
    route = Route(npu="linear", npu_f16=True) if npu else USUAL
    return Prompt(tokens, model=file_of("Q4_0"), cores=_CORES, board=BOARD, route=route)


def _against_llama(bench: Bench) -> Outcome:
    job = Job(REPACKED, SomeLayers(file_of("Q4_0"), ()), _CORES, prompt=_TOKENS, board=BOARD)
    theirs = whole_file(bench, job)["cycles"] / _TOKENS / 1e6
    ours = run(bench, _prompt())["prefill"] / _TOKENS / 1e6
    alone = run(bench, _prompt(npu=False))["prefill"] / _TOKENS / 1e6
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
        ("Matrix products on the NPU, results of fp16 but for queries, keys and values.",),
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
            "Bounds: multiply-accumulates at the NPU's rate, the cores' work shared out evenly, all bytes at what "
            "the bus gives them together. Overlap: both busy, of the shorter of the two, mean over the cores.",
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
    """Off against linear by the prompt's length; the last row says from where on offload pays."""
    rows: list[Row] = []
    pays: int | None = None
    for tokens in _LENGTHS:
        linear = run(bench, _prompt(tokens))["prefill"]
        off = run(bench, _prompt(tokens, npu=False))["prefill"]
        pays = None if linear >= off else pays or tokens
        rows += [
            Row(f"{tokens} tokens, off", "kcycles/token", off / tokens / 1e3, None, ""),
            Row(f"{tokens} tokens, linear", "kcycles/token", linear / tokens / 1e3, None, ""),
        ]
    return (*rows, Row("linear is quicker from", "tokens", float(pays or 0), None, ""))


E6 = Check("E6", "prefill with the NPU against llama.cpp on four cores, Q4_0, repacked", _against_llama)
E10 = Check("E10", "how well the NPU and the cores overlap", _overlap)
