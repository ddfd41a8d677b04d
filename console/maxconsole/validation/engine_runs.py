# SPDX-License-Identifier: Apache-2.0
"""Runs of the firmware as it ships on a virtual board: the figures that the engine's targets are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from maxconsole.boards.planner import BATCH_MAX
from maxconsole.schema import wire
from maxconsole.session.benchmark_text import Kind
from maxconsole.session.results import Answer
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare
from maxconsole.session.speed import Workload, measure
from maxconsole.telemetry.report import L1D_CACHE, L1D_CACHE_REFILL
from maxconsole.validation.check import Bench
from maxconsole.validation.store import Figures

BOARD = "rpi5-virtual"  # the profile that was compared with silicon
LINEAR = tuple(kernel for kernel in wire.Kernel if kernel.name.startswith("LINEAR_"))


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt of `tokens` in one batch, and an answer of `answer` tokens. `model` None: the demo model.

    `context` 0 holds all of them; with a shorter one batches are of half its size, and the KV ring turns.
    """

    tokens: int
    kind: Kind = "news"
    model: Path | None = None
    cores: int = 1
    answer: int = 1
    context: int = 0
    board: str = BOARD

    @property
    def workload(self) -> Workload:
        return Workload(self.label, self.tokens, self.answer, self.kind)

    @property
    def setup(self) -> Setup:
        context = self.context or self.workload.context
        model = None if self.model is None else str(self.model)
        batch = min(BATCH_MAX, self.context // 2 or self.tokens)
        return Setup(self.board, model, context=context, batch=batch, cores=self.cores, timing="timed")

    @property
    def label(self) -> str:
        """For file names and progress."""
        model = "demo" if self.model is None else self.model.stem
        ring = f"-ring{self.context}" * bool(self.context)
        return f"{model}-{self.kind}-{self.tokens}+{self.answer}{ring}-{self.cores}c-{self.board}"


def run(bench: Bench, prompt: Prompt) -> Figures:
    """Cycles, work and L1D traffic of each kernel, summed over cores, as PHASE.KERNEL.cycles and so on.

    `prefill` and `decode` are core 0's cycles from the tokens to the logits. `map.lookups` and so on are those of the
    KV ring's index map, up to the last token.
    """
    prepared = prepare(prompt.setup)
    facts = (prepared.firmware.build_id, str(prepared.image.header.header_crc), prompt.label)

    def measured() -> Figures:
        bench.note(f"running {prompt.label}")
        return _measure(prepared, prompt)

    return bench.store.figures(f"engine-{prompt.label}", facts, measured)


def _measure(prepared: Prepared, prompt: Prompt) -> Figures:
    with Session.open(prepared.setup) as session:
        (answer,) = measure(session, prompt.workload, 1).answers
        kv = session.snapshot().kv
    assert kv is not None  # it comes with every batch
    ring = {name: float(getattr(kv, f"map_{name}")) for name in ("entries", "lookups", "accesses", "refills")}
    return {
        "prefill": float(answer.prefill_cycles),
        "decode": float(answer.decode_cycles),
        **{f"map.{name}": count for name, count in ring.items()},
        **_kernels(answer),
    }


def _kernels(answer: Answer) -> Figures:
    figures: Figures = {}
    for row in answer.rows:
        name = f"{row.phase}.{row.kernel}"
        figures[f"{name}.cycles"] = float(row.cycles)
        figures[f"{name}.work"] = float(row.work)
        for event in (L1D_CACHE, L1D_CACHE_REFILL):
            figures[f"{name}.{event:#04x}"] = float(row.counters.get(f"{event:#04x}", 0))
    return figures


def total(figures: Figures, phase: str, what: str, *kernels: wire.Kernel) -> float:
    """The sum over these kernels, or over all."""
    names = [f"{phase}.{kernel.name.lower()}" for kernel in kernels]
    return sum(
        value
        for name, value in figures.items()
        if name.startswith(f"{phase}.") and name.endswith(f".{what}") and (not names or name[: -len(what) - 1] in names)
    )
