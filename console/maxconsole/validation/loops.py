# SPDX-License-Identifier: Apache-2.0
"""F1: small loops against LLVM's scheduling model of a Neoverse N1.

It checks the decoder and the scheduler, not the latencies: most of those come from the same model.
"""

from __future__ import annotations

from maxconsole.errors import ToolMissing
from maxconsole.validation import mca
from maxconsole.validation.bench import program, run_loops
from maxconsole.validation.check import Bench, Check, Group, Outcome, Row
from maxconsole.validation.loop_programs import LOOPS, Loop, random_loops
from maxconsole.validation.store import Figures

SEED = 76
_RANDOM = 20
_ITERATIONS = 20_000  # so that what differs once between two runs is less than 0.1 %
_EXACT = 0.001
_NARROW, _WIDE = 4, 8  # micro-operations that LLVM dispatches per cycle; 8 is the default of its model
_MACRO_OPERATIONS = 4  # of a Cortex-A76: Software Optimization Guide 4.1


def _model(bench: Bench, name: str, loops: tuple[Loop, ...]) -> Figures:
    def measure() -> Figures:
        bench.note(f"F1: {name}, {len(loops)} loops on the virtual board")
        return run_loops(loops, _ITERATIONS).cycles

    return bench.store.figures(f"F1/{name}", [program(loops, _ITERATIONS)], measure)


def _fixed_row(loop: Loop, modeled: float) -> Row:
    assert loop.neoverse_n1 is not None
    if loop.sourced is not None:
        return Row(
            loop.name,
            "cycles",
            modeled,
            loop.sourced,
            "a64_classes.h",
            _EXACT,
            f"LLVM {loop.neoverse_n1:g}. {loop.why}",
        )
    return Row(loop.name, "cycles", modeled, loop.neoverse_n1, "llvm-mca 19.1.7, dispatch 8", why=loop.why)


def _random_row(bench: Bench, loop: Loop, modeled: float, version: str) -> Row:
    """Against the nearer one of LLVM's two answers: it counts micro-operations, and the core macro-operations."""

    def ask() -> Figures:
        bench.note(f"F1: llvm-mca on {loop.name}")
        return {"wide": mca.cycles(loop, _WIDE), "narrow": mca.cycles(loop, _NARROW)}

    answer = bench.store.figures(f"F1/{loop.name}", [loop.assembly, version], ask, modeled=False)
    instructions = loop.assembly.count("\n") - 1
    wide = max(answer["wide"], instructions / _MACRO_OPERATIONS)
    reference = min(wide, answer["narrow"], key=lambda cycles: abs(modeled - cycles))
    why = (
        ""
        if reference == answer["wide"]
        else "dispatch 4"
        if reference == answer["narrow"]
        else "4 instructions per cycle"
    )
    return Row(loop.name, "cycles", modeled, reference, f"llvm-mca {version}", why=why)


def run(bench: Bench) -> Outcome:
    modeled = _model(bench, "fixed", LOOPS)
    groups = [
        Group("loops", tuple(_fixed_row(loop, modeled[loop.name]) for loop in LOOPS if loop.sourced is None)),
        Group("accumulator chains", tuple(_fixed_row(loop, modeled[loop.name]) for loop in LOOPS if loop.sourced)),
    ]
    remarks = ["Of the 22 loops, the three chains follow other sources than LLVM; the 19 others must agree."]
    try:
        version = mca.version()
    except ToolMissing as missing:
        remarks.append(f"The random loops were left out: {missing.what} ({missing.hint}).")
        return Outcome(tuple(groups), tuple(remarks))
    loops = random_loops(SEED, _RANDOM)
    modeled = _model(bench, f"random-{SEED}", loops)
    rows = tuple(_random_row(bench, loop, modeled[loop.name], version) for loop in loops)
    groups.append(Group(f"random loops, seed {SEED}", rows, required=18))
    remarks.append(
        "Random loops pass with either answer of LLVM: 8 micro-operations dispatched per cycle, but no more than 4 "
        "instructions; or 4 micro-operations."
    )
    return Outcome(tuple(groups), tuple(remarks))


CHECK = Check("F1", "small loops against llvm-mca's Neoverse N1", run)
