# SPDX-License-Identifier: Apache-2.0
"""Runs of llama.cpp under the timing model, and what a whole model's run follows from ones with fewer layers."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from maxconsole.boards import load_board
from maxconsole.validation.check import Bench
from maxconsole.validation.llama_build import Build, llama_program
from maxconsole.validation.llama_models import Shape
from maxconsole.validation.store import Figures
from maxconsole.virtual.linux import Marks, run_linux
from maxconsole.virtual.plugin import Mode

BOARD = "rpi5-virtual"
_WORKER, _GRAPH, _BARRIER = "ggml_graph_compute_secondary_thread", "ggml_graph_compute_thread", "ggml_barrier"
_DECODE = "llama_decode"
_UBATCH = 512  # llama.cpp's own


class ModelFile(Protocol):
    """A GGUF file that can be made at any time."""

    @property
    def label(self) -> str: ...

    @property
    def inputs(self) -> tuple[str | Path, ...]:
        """What decides its content."""

    def file(self) -> Path: ...


ModelT_co = TypeVar("ModelT_co", bound=ModelFile, covariant=True)


@dataclass(frozen=True, slots=True)
class Job(Generic[ModelT_co]):
    """One run of the driver: `prompt` tokens, `ubatch` of them at once, or `generated` tokens one after the other.

    `flash` None leaves flash attention to llama.cpp, `ubatch` 0 its own size.
    """

    build: Build
    model: ModelT_co
    threads: int
    prompt: int = 0
    generated: int = 0
    ubatch: int = 0
    flash: bool | None = None
    mode: Mode = "timed"
    regions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        what = f"pp{self.prompt}" if self.prompt else f"tg{self.generated}"
        options = f"-u{self.ubatch}" * bool(self.ubatch) + ("" if self.flash is None else f"-fa{self.flash:d}")
        return f"{self.model.label}-{what}{options}-{self.threads}t-{self.mode}"

    @property
    def arguments(self) -> tuple[str, ...]:
        """Of the driver, after the model."""
        ubatch = self.ubatch or (_UBATCH if self.flash is not None else 0)
        options = (ubatch,) * bool(ubatch) + (int(bool(self.flash)),) * (self.flash is not None)
        return tuple(map(str, (self.threads, self.prompt, self.generated, *options)))


def measure(bench: Bench, job: Job[ModelFile], repetition: int = 0) -> Figures:
    """`cycles` of the main thread for all tokens, waiting included; the rest are counts of all threads.

    Only what happens while llama.cpp evaluates tokens is modeled: loading, repacking and sampling are not. Caches are
    empty at the first token. Counts of the job's regions are there as NAME.cycles and so on. Another `repetition` is
    another run of the same.
    """
    program = llama_program(job.build, bench.note)
    name = job.name + f"-run{repetition}" * bool(repetition)

    def run() -> Figures:
        bench.note(f"running {name}")
        return _run(program, job)

    facts = (name, program.name, job.build.key, repr(job.regions), *job.model.inputs)
    return bench.store.figures(f"llama-{name}", facts, run)


def _run(program: Path, job: Job[ModelFile]) -> Figures:
    command = [program, job.model.file(), *job.arguments]
    marks = Marks(
        regions=(*job.regions,),
        barriers=(_BARRIER,),
        idle=("main", _WORKER),
        work=(_DECODE, _GRAPH),
    )
    with open(os.devnull, "w") as nowhere:
        results = run_linux(
            load_board(BOARD),
            [*map(str, command)],
            mode=job.mode,
            marks=marks,
            threads=job.threads,
            output=nowhere.fileno(),
        )
    total, decode = results.total, results.region(_DECODE, 0)
    figures = {
        "cycles": float(decode.cycles),
        "instructions": float(total.instructions),
        "core_cycles": float(total.cycles - total.waiting),
        "dram_read_bytes": float(total.dram_read_bytes),
        "dram_written_bytes": float(total.dram_written_bytes),
        "undecoded": float(total.undecoded),
        **{f"event.{number:#04x}": float(count) for number, count in total.events.items()},
    }
    for name in job.regions:
        part = results.region(name)
        figures[f"{name}.cycles"] = float(part.cycles)
        figures[f"{name}.instructions"] = float(part.instructions)
        figures[f"{name}.l1d_refills"] = float(part.events[0x03])
        figures[f"{name}.l2_refills"] = float(part.events[0x17])
    return figures


def whole(bench: Bench, job: Job[Shape], fewer: int, more: int) -> Figures:
    """Figures of `job` from runs with `fewer` and `more` layers: what is outside of the layers, plus all layers."""
    few, many = (measure(bench, replace(job, model=job.model.with_layers(n))) for n in (fewer, more))
    rest = (job.model.layers - fewer) / (more - fewer)
    return {name: few[name] + rest * (many[name] - few[name]) for name in few}


def tokens_per_second(figures: Figures, tokens: int) -> float:
    """By the main thread's clock."""
    hz = load_board(BOARD).need("cpu.clock_hz", load_board(BOARD).cpu.clock_hz)
    return tokens * hz / figures["cycles"]
