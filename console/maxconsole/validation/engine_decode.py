# SPDX-License-Identifier: Apache-2.0
"""E7 and E8: decode against the bandwidth that this board reaches, and what a token costs in the KV cache."""

from __future__ import annotations

from maxconsole.boards import load_board
from maxconsole.boards.memory_model import kv_bytes_per_token
from maxconsole.models.demo import demo_path
from maxconsole.schema import wire
from maxconsole.schema.image import TensorFormat, TensorRole
from maxconsole.session.setup import prepare
from maxconsole.validation.check import AtLeast, AtMost, Bench, Check, Group, Outcome, Row
from maxconsole.validation.engine_runs import BOARD, Prompt, run, total
from maxconsole.validation.llama_layers import SomeLayers
from maxconsole.validation.memory import read_rates

_TEAMS = (1, 2, 4)
_PROMPT, _ANSWER = 16, 9  # eight steps: the first token comes out of the prefill
_RING = 128
_WRAPS = 3  # lengths of the ring's window that the longest prompt has: the ring has turned twice by then


def _decode(bench: Bench) -> Outcome:
    board = load_board(BOARD)
    hz = board.need("cpu.clock_hz", board.cpu.clock_hz)
    best = read_rates(bench)
    rates = {}
    for cores in _TEAMS:
        prompt = Prompt(_PROMPT, cores=cores, answer=_ANSWER)
        rates[cores] = (_ANSWER - 1) * _bytes_of_a_step(prompt) / run(bench, prompt)["decode"] * hz / 1e9
    top = max(rates, key=lambda cores: rates[cores])
    share = 100 * rates[top] / max(best.values())
    rows = [
        Row(f"{cores} cores", "GB/s", rate, None, f"read benchmark: {best[cores]:.2f}") for cores, rate in rates.items()
    ]
    return Outcome(
        (
            Group("use", (AtLeast(f"{top} cores", "%", share, 92, "target; llama.cpp on a Raspberry Pi 5: 86 %"),)),
            Group("packed weights, head and KV bytes over time", tuple(rows), required=0),
        ),
        ("The reference is the fastest read benchmark of this board, whatever the number of cores.",),
    )


def _bytes_of_a_step(prompt: Prompt) -> float:
    """Layers' matrices and head once, and keys and values of what has been said, halfway through the answer."""
    prepared = prepare(prompt.setup)
    untied = any(entry.role == TensorRole.OUTPUT for entry in prepared.image.entries)
    matrices = sum(
        entry.bytes
        for entry in prepared.image.entries
        if entry.format != TensorFormat.F32 and not (untied and entry.role == TensorRole.TOKEN_EMBEDDING)
    )
    return matrices + kv_bytes_per_token(prepared.model.facts) * (_PROMPT + _ANSWER / 2)


def _update(bench: Bench) -> Outcome:
    model = SomeLayers(demo_path(), (0, 1)).file()
    rows: list[Row] = []
    costs = []
    for windows in (1, _WRAPS + 1):
        prompt = Prompt(_RING * windows, model=model, context=_RING, runs=2)
        figures = run(bench, prompt)
        kernel = wire.Kernel.KV_CACHE_UPDATE
        costs.append(total(figures, "prefill", "cycles", kernel) / total(figures, "prefill", "work", kernel))
        name = f"{prompt.tokens} tokens, a ring of {_RING}"
        rows.append(AtMost(name, "cycles an element", costs[-1], 2, "target; the article: constant"))
    spread = 100 * abs(costs[-1] / costs[0] - 1)
    rows.append(AtMost("difference", "%", spread, 2, "target"))
    return Outcome(
        (Group("keys and values: rotation, quantization, append", tuple(rows)),),
        (
            "Two layers of the model; the second run of each prompt.",
            "With the empty caches of power-on, the first window takes 4 % less.",
        ),
    )


E7 = Check("E7", "decode against the board's own read bandwidth", _decode)
E8 = Check("E8", "kv_cache_update", _update)
