# SPDX-License-Identifier: Apache-2.0
"""Runs of the firmware as it ships on a virtual board: the figures that the engine's targets are made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from maxconsole.boards import Board
from maxconsole.boards.events import choose_events
from maxconsole.boards.planner import BATCH_MAX
from maxconsole.paths import cache_dir
from maxconsole.schema import wire
from maxconsole.session.benchmark_text import Kind
from maxconsole.session.npu_report import npu_report
from maxconsole.session.results import Answer
from maxconsole.session.route import USUAL, Route
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare
from maxconsole.session.speed import Workload, measure
from maxconsole.telemetry.breakdown import BUS_ACCESS_RD
from maxconsole.telemetry.npu import overlap
from maxconsole.telemetry.report import L1D_CACHE, L1D_CACHE_REFILL
from maxconsole.telemetry.snapshot import Snapshot
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
    route: Route = USUAL
    startup: int | None = None  # of the NPU's jobs, in cycles, in place of the profile's
    runs: int = 1  # of which the last counts: caches are empty at power-on, and not after the first

    @property
    def workload(self) -> Workload:
        return Workload(self.label, self.tokens, self.answer, self.kind)

    @property
    def setup(self) -> Setup:
        context = self.context or self.workload.context
        model = None if self.model is None else str(self.model)
        batch = min(BATCH_MAX, self.context // 2 or self.tokens)
        board = self.board if self.startup is None else str(_with_startup(self.board, self.startup))
        return Setup(
            board,
            model,
            context=context,
            batch=batch,
            cores=self.cores,
            route=self.route,
            timing="timed",
        )

    @property
    def label(self) -> str:
        """For file names and progress."""
        model = "demo" if self.model is None else self.model.stem
        ring = f"-ring{self.context}" * bool(self.context)
        npu = (
            f"-npu-{self.route.npu}" * (self.route.npu != "off")
            + "-f16" * self.route.npu_f16
            + f"-startup{self.startup}" * (self.startup is not None)
        )
        run = f"-run{self.runs}" * (self.runs > 1)
        return f"{model}-{self.kind}-{self.tokens}+{self.answer}{ring}-{self.cores}c-{self.board}{npu}{run}"


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
        if prompt.route.npu != "off":
            session.select_events(choose_events(prepared.board, [hex(BUS_ACCESS_RD)]))
        answer = measure(session, prompt.workload, prompt.runs).answers[-1]
        snapshot = session.snapshot()
    kv = snapshot.kv
    assert kv is not None  # it comes with every batch
    ring = {name: float(getattr(kv, f"map_{name}")) for name in ("entries", "lookups", "accesses", "refills")}
    return {
        "prefill": float(answer.prefill_cycles),
        "decode": float(answer.decode_cycles),
        **{f"map.{name}": count for name, count in ring.items()},
        **_kernels(answer),
        **_npu(answer, snapshot, prepared.board),
    }


def _npu(answer: Answer, snapshot: Snapshot, board: Board) -> Figures:
    """The fields of an NpuReport as npu.cycles and so on; nothing where the NPU did nothing."""
    side = overlap(snapshot.steps[wire.Phase.PREFILL]) if answer.npu != "off" else None
    if side is None:
        return {}
    rows = [row for row in answer.rows if row.phase == "prefill"]
    report = npu_report(side, rows, board, answer.counter_hz)
    return {f"npu.{name}": float(value) for name, value in asdict(report).items()}


def _with_startup(board: str, cycles: int) -> Path:
    """A profile that differs from `board` in how long a job of the NPU takes to start."""
    path = cache_dir("validation") / f"{board}-npu-startup-{cycles}.toml"
    path.write_text(f'extends = "{board}"\nname = "{path.stem}"\n\n[npu]\nstartup_cycles = {cycles}\n')
    return path


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
