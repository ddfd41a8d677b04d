# SPDX-License-Identifier: Apache-2.0
"""E4 and E5: prefill against llama.cpp -O3 with dotprod, on the same modeled core, with the same file.

Both windows are the same: from the tokens to the logits of the last one, caches as loading has left them.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from maxconsole.errors import UserError
from maxconsole.paths import cache_dir
from maxconsole.session.benchmark_text import Kind
from maxconsole.telemetry.bounds import PEAK_MACS
from maxconsole.validation.check import AtLeast, AtMost, Bench, Check, Group, Outcome, Row
from maxconsole.validation.engine_runs import LINEAR, Prompt, run, total
from maxconsole.validation.llama_build import REPACKED
from maxconsole.validation.llama_layers import SomeLayers, whole_file
from maxconsole.validation.llama_models import LLAMA_1B, QWEN_15, QWEN_15_K, Shape
from maxconsole.validation.llama_runs import Job, whole
from maxconsole.validation.store import Figures

_PROMPTS: tuple[tuple[Kind, int], ...] = (("code", 180), ("news", 320), ("documents", 480))


@dataclass(frozen=True, slots=True)
class Setting:
    """llama.cpp's flash attention, and how many tokens it evaluates at once."""

    flash: bool
    ubatch: int

    def __str__(self) -> str:
        return f"-fa {self.flash:d} -ub {self.ubatch}"


_SETTINGS = tuple(Setting(flash, ubatch) for ubatch in (512, 128) for flash in (True, False))
"""Those that are tried: the fastest counts. The first is what llama.cpp does by itself."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """One prompt on both sides. Cycles for all of its tokens."""

    kind: Kind
    tokens: int
    ours: Figures
    theirs: float
    settings: str

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours["prefill"]


def _file(format: str) -> Path:  # noqa: A002
    path = cache_dir("models") / f"SmolLM2-135M-Instruct.requantized.{format}.gguf"
    if not path.is_file():
        raise UserError(f"there is no {path}", hint=f"scripts/requantize-demo {format} {path}")
    return path


def _llama(bench: Bench, model: Path, tokens: int, setting: Setting) -> float:
    """Cycles of a prompt."""
    job = Job(REPACKED, SomeLayers(model, ()), 1, prompt=tokens, ubatch=setting.ubatch, flash=setting.flash)
    return whole_file(bench, job)["cycles"]


def _best_setting(bench: Bench, model: Path) -> Setting:
    """The fastest for the shortest prompt."""
    tokens = _PROMPTS[0][1]
    return min(_SETTINGS[: 1 if bench.quick else None], key=lambda setting: _llama(bench, model, tokens, setting))


def _compare(bench: Bench, model: Path, target: float, anchor: str) -> Outcome:
    best = _best_setting(bench, model)
    pairs = [
        _Pair(kind, tokens, run(bench, Prompt(tokens, kind, model)), _llama(bench, model, tokens, best), str(best))
        for kind, tokens in _PROMPTS[: 1 if bench.quick else None]
    ]
    mean = statistics.geometric_mean([pair.ratio for pair in pairs])
    ratios = [
        Row(f"{pair.kind}, {pair.tokens} tokens", "x", pair.ratio, None, f"llama.cpp {pair.settings}") for pair in pairs
    ]
    cycles: list[Row] = []
    for pair in pairs:
        cycles.append(
            Row(
                f"this engine, {pair.tokens} tokens",
                "Mcycles/token",
                pair.ours["prefill"] / pair.tokens / 1e6,
                None,
                "",
            )
        )
        cycles.append(
            Row(f"llama.cpp, {pair.tokens} tokens", "Mcycles/token", pair.theirs / pair.tokens / 1e6, None, "")
        )
    peak = [
        Row(
            f"this engine, {pair.tokens} tokens",
            "% of peak",
            100 * total(pair.ours, "prefill", "work", *LINEAR) / (PEAK_MACS * pair.ours["prefill"]),
            None,
            "layer matrices over all cycles; 100 is impossible to exceed",
        )
        for pair in pairs
    ]
    return Outcome(
        (
            Group("ratio", (AtLeast("geometric mean", "x", mean, target, anchor), *ratios)),
            Group("cycles", tuple(cycles), required=0),
            Group("physical check", tuple(peak), required=0),
        ),
        (
            "One core at 2.4 GHz. llama.cpp's run is extrapolated from files with fewer layers, by kind of layer. The "
            "Q4_K_M file of this model is mostly Q5_0, and llama.cpp has no repacked kernel for that: so two ratios.",
        ),
    )


def _compare_shape(bench: Bench, shape: Shape, target: float, anchor: str) -> Outcome:
    """Both sides from runs with few layers, the rest in proportion."""
    kind, tokens = _PROMPTS[0]
    fewer, more = _FEW_LAYERS
    theirs = {
        setting: whole(
            bench, Job(REPACKED, shape, 1, prompt=tokens, ubatch=setting.ubatch, flash=setting.flash), fewer, more
        )["cycles"]
        for setting in _SETTINGS[: 1 if bench.quick else 2]
    }
    best = min(theirs, key=lambda setting: theirs[setting])
    few, many = (
        run(bench, Prompt(tokens, kind, shape.with_layers(layers).file()))["prefill"] for layers in _FEW_LAYERS
    )
    ours = few + (shape.layers - fewer) / (more - fewer) * (many - few)
    macs = shape.layer_weights * shape.layers * tokens
    rows = (
        AtLeast(f"{shape.name}, {tokens} tokens", "x", theirs[best] / ours, target, f"{anchor}; llama.cpp {best}"),
        AtMost("this engine: layer matrices", "% of peak", 100 * macs / (PEAK_MACS * ours), 100, "physics"),
        Row("llama.cpp: the same", "% of peak", 100 * macs / (PEAK_MACS * theirs[best]), None, ""),
    )
    return Outcome((Group("ratio", rows),), (f"{fewer} and {more} of {shape.layers} layers. Weights are random.",))


_FEW_LAYERS = (1, 2)
_ARTICLE = "target; the article: 6.01"

E4 = Check("E4", "prefill against llama.cpp, Q4_K_M", lambda bench: _compare(bench, _file("Q4_K_M"), 6.5, _ARTICLE))
E5 = Check(
    "E5", "prefill against llama.cpp, Q4_0, repacked", lambda bench: _compare(bench, _file("Q4_0"), 1.9, "target")
)
E5B = Check(
    "E5b",
    "prefill against llama.cpp, Qwen2.5 1.5B, Q4_K_M",
    lambda bench: _compare_shape(bench, QWEN_15_K, 2.0, "target"),
)
E5C = Check(
    "E5c",
    "prefill against llama.cpp, Qwen2.5 1.5B, Q4_0, repacked",
    lambda bench: _compare_shape(bench, QWEN_15, 1.25, "target"),
)
E5D = Check(
    "E5d",
    "prefill against llama.cpp, Llama 3.2 1B, Q4_K_M",
    lambda bench: _compare_shape(bench, LLAMA_1B, 2.0, "as E5b"),
)
