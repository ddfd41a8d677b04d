# SPDX-License-Identifier: Apache-2.0
"""F2: llama.cpp without repacking, TinyLlama 1.1B in Q4_K_M, one thread, against a Raspberry Pi 5."""

from __future__ import annotations

from maxconsole.validation.check import Bench, Check, Group, Outcome, Row
from maxconsole.validation.llama_build import NOT_REPACKED
from maxconsole.validation.llama_models import TINYLLAMA
from maxconsole.validation.llama_runs import Job, tokens_per_second, whole

_SOURCE = "ggml-neon-opt, llama.cpp b6735, 2025-11"
_TOLERANCE = 0.1
_GENERATED, _PROMPT = 2, 32
_LAYERS = (2, 4)
_PUBLISHED_TOKENS = 640  # five times tg128; the warm-up lies in the first half second, which was not counted
_DOT_PRODUCTS = ("ggml_vec_dot_q4_K_q8_K", "ggml_vec_dot_q6_K_q8_K")

# Counters of the published run, in units of 1e9, and the event that the model has for each.
_COUNTERS = {
    "instructions": (451.5, 0x08),
    "L1D accesses": (118.4, 0x04),
    "L1D refills": (0.695, 0x03),
    "L2 accesses": (13.12, 0x16),
    "L2 refills": (0.332, 0x17),
    "L3 refills": (6.33, 0x2A),
    "branches mispredicted": (0.050, 0x10),
    "cycles of STALL_BACKEND": (25.8, 0x24),
}


def run(bench: Bench) -> Outcome:
    decode = whole(bench, Job(NOT_REPACKED, TINYLLAMA, 1, generated=_GENERATED, regions=_DOT_PRODUCTS), *_LAYERS)
    prefill = whole(bench, Job(NOT_REPACKED, TINYLLAMA, 1, prompt=_PROMPT, regions=_DOT_PRODUCTS), *_LAYERS)
    gated = Group(
        "decoding",
        (
            _row("decode", "tok/s", tokens_per_second(decode, _GENERATED), 8.85),
            _row("instructions per cycle", "", decode["instructions"] / decode["core_cycles"], 2.61),
            _row("read from DRAM per token", "MB", decode["dram_read_bytes"] / _GENERATED / 1e6, 633),
        ),
    )
    counters = Group(
        "counters, million per token: for information",
        tuple(
            _row(name, "", decode.get(f"event.{event:#04x}", 0.0) / _GENERATED / 1e6, total * 1e3 / _PUBLISHED_TOKENS)
            for name, (total, event) in _COUNTERS.items()
        ),
        required=0,
    )
    shares = Group(
        "share of all cycles: for information",
        tuple(
            _row(name, "%", 100 * decode[f"{name}.cycles"] / decode["cycles"], share)
            for name, share in zip(_DOT_PRODUCTS, (67.15, 25.93), strict=True)
        ),
        required=0,
    )
    prompt = Group(
        "prompt of 32 tokens: for information",
        (
            _row(
                "prefill",
                "tok/s",
                tokens_per_second(prefill, _PROMPT),
                14.87,
                why="the published figure is that of OpenBLAS' float product (its table says BLAS); here the dot "
                "products of decoding run, which by the published profile cannot exceed 10 tok/s",
            ),
        ),
        required=0,
    )
    return Outcome(
        (gated, prompt, counters, shares),
        (
            f"{_LAYERS[0]} and {_LAYERS[1]} of 22 layers, the others in proportion; half of them with Q6_K matrices, "
            f"where the file has 10 of 22 (0.5 % of its bytes). {_GENERATED} tokens, caches empty at the first. Built "
            "with -O2, as published; weights are random.",
        ),
    )


def _row(name: str, unit: str, model: float, reference: float, *, why: str = "") -> Row:
    return Row(name, unit, model, reference, _SOURCE, _TOLERANCE, why)


CHECK = Check("F2", "llama.cpp, Q4_K_M, one thread", run)
