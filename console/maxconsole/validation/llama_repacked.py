# SPDX-License-Identifier: Apache-2.0
"""F3 and F4: llama.cpp with repacked Q4_0 weights, Qwen2.5 0.5B and 1.5B, against a Raspberry Pi 5."""

from __future__ import annotations

from dataclasses import dataclass

from maxconsole.telemetry.bounds import PEAK_MACS
from maxconsole.validation.check import Bench, Check, Group, Outcome, Row
from maxconsole.validation.llama_build import REPACKED
from maxconsole.validation.llama_models import QWEN_05, QWEN_15, Shape
from maxconsole.validation.llama_runs import Job, tokens_per_second, whole

_SOURCE = "Arm learning path llm-decode-roofline, llama.cpp 836d571, 2026"
_TOLERANCE = 0.15
_PROMPT, _GENERATED = 128, 2
_GEMM = "ggml_gemm_q4_0_4x4_q8_0"


@dataclass(frozen=True, slots=True)
class _Published:
    """Tokens per second by number of threads; `layers` of the two runs that the whole model follows from."""

    shape: Shape
    prefill: dict[int, float]
    decode: dict[int, float]
    layers: tuple[int, int]


_F3 = _Published(QWEN_05, {1: 105.9, 4: 326.5}, {1: 32.3}, (2, 4))
_F4 = _Published(QWEN_15, {1: 29.0, 4: 82.6}, {1: 10.5, 4: 9.9}, (1, 2))


def _check(bench: Bench, published: _Published) -> Outcome:
    shape = published.shape
    rows, efficiency = [], []
    for threads, reference in published.prefill.items():
        job = Job(REPACKED, shape, threads, prompt=_PROMPT, regions=(_GEMM,))
        figures = whole(bench, job, *published.layers)
        rows.append(_row(f"prefill of {_PROMPT}, {threads} threads", tokens_per_second(figures, _PROMPT), reference))
        macs = shape.layer_weights * shape.layers * _PROMPT
        share = 100 * macs / (PEAK_MACS * figures["cycles"] * threads)
        efficiency.append(Row(f"{threads} threads", "% of SDOT peak", share, None, "layer weights over all cycles"))
    for threads, reference in published.decode.items():
        figures = whole(bench, Job(REPACKED, shape, threads, generated=_GENERATED), *published.layers)
        rows.append(_row(f"decode, {threads} threads", tokens_per_second(figures, _GENERATED), reference))
    few, more = published.layers
    return Outcome(
        (Group(f"{shape.name}", tuple(rows)), Group("prefill, use of the multipliers", tuple(efficiency), required=0)),
        (
            f"{few} and {more} of {shape.layers} layers, the rest in proportion; {_GENERATED} tokens generated; caches "
            "empty at the first. Built without OpenMP: its barrier costs as assumed. Weights are random.",
        ),
    )


def _row(name: str, model: float, reference: float) -> Row:
    return Row(name, "tok/s", model, reference, _SOURCE, _TOLERANCE)


F3 = Check("F3", "llama.cpp, Qwen2.5 0.5B, Q4_0 repacked", lambda bench: _check(bench, _F3))
F4 = Check("F4", "llama.cpp, Qwen2.5 1.5B, Q4_0 repacked", lambda bench: _check(bench, _F4))
