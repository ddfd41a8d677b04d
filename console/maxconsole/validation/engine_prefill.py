# SPDX-License-Identifier: Apache-2.0
"""E2, E3 and E9: how much of the multipliers prefill uses, how it scales, and how rarely it misses L1D."""

from __future__ import annotations

from maxconsole.schema import wire
from maxconsole.telemetry.bounds import PEAK_MACS
from maxconsole.telemetry.report import L1D_CACHE, L1D_CACHE_REFILL
from maxconsole.validation.check import AtLeast, AtMost, Bench, Check, Group, Outcome, Row
from maxconsole.validation.engine_runs import LINEAR, Prompt, run, total
from maxconsole.validation.store import Figures

_LENGTHS = (320, 1024, 2048)
_PROMPT = 320
_BEST_PUBLISHED = "best published on a Raspberry Pi 5: 49 %"
_ATTENTION = (wire.Kernel.ATTENTION,)
_OTHERS = (wire.Kernel.ATTENTION, wire.Kernel.HEAD)
_ATTENTION_MACS = 2 * 64  # of a query with a key, and of the weight with the value: head of 64


def _linear_share(figures: Figures, *, all_cycles: bool) -> float:
    cycles = figures["prefill"]
    if not all_cycles:
        cycles -= total(figures, "prefill", "cycles", *_OTHERS)
    return 100 * total(figures, "prefill", "work", *LINEAR) / (PEAK_MACS * cycles)


def _use(bench: Bench) -> Outcome:
    runs = {tokens: run(bench, Prompt(tokens)) for tokens in _LENGTHS[: 1 if bench.quick else None]}
    rows: list[Row] = [
        AtLeast(
            f"E2a, {tokens} tokens",
            "% of peak",
            _linear_share(figures, all_cycles=False),
            75,
            f"target; {_BEST_PUBLISHED}",
        )
        for tokens, figures in runs.items()
    ]
    for tokens, figures in runs.items():
        pairs = total(figures, "prefill", "work", *_ATTENTION) / _ATTENTION_MACS
        cycles = total(figures, "prefill", "cycles", *_ATTENTION) / pairs
        rows.append(AtMost(f"E2b, {tokens} tokens", "cycles a pair", cycles, 10, "target"))
    rows.append(
        AtLeast(f"E2c, {_PROMPT} tokens", "% of peak", _linear_share(runs[_PROMPT], all_cycles=True), 68, "target")
    )
    return Outcome(
        (Group("one core", tuple(rows)),),
        (
            "E2a: multiply-accumulates of the layers' matrices over 32 x (all cycles less attention and head). "
            "E2b: a pair is a query, a key and a head. E2c: the same as E2a over all cycles.",
        ),
    )


def _scaling(bench: Bench) -> Outcome:
    one, four = (run(bench, Prompt(_PROMPT, cores=cores))["prefill"] for cores in (1, 4))
    rows = (AtLeast(f"prefill of {_PROMPT} tokens, 4 cores against 1", "x", one / four, 3.7, "target"),)
    return Outcome((Group("scaling", rows),))


def _misses(bench: Bench) -> Outcome:
    figures = run(bench, Prompt(_PROMPT))
    refills, accesses = (total(figures, "prefill", f"{event:#04x}") for event in (L1D_CACHE_REFILL, L1D_CACHE))
    rows = (AtMost(f"prefill of {_PROMPT} tokens", "%", 100 * refills / accesses, 0.3, "target; the article: 8.2 %"),)
    return Outcome((Group("L1D demand misses", rows),))


E2 = Check("E2", "prefill on one core against the peak of 32 multiply-accumulates a cycle", _use)
E3 = Check("E3", "prefill on four cores against one", _scaling)
E9 = Check("E9", "L1D demand miss rate of prefill", _misses)
