# SPDX-License-Identifier: Apache-2.0
"""What one request came to: text, tokens, and what it cost on the board and on the host."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from maxconsole.schema import wire
from maxconsole.session.machine import Badge
from maxconsole.session.route import USUAL
from maxconsole.session.sampling import Sampling
from maxconsole.telemetry.kernels import KernelTable
from maxconsole.telemetry.npu import NpuTable
from maxconsole.telemetry.report import KernelRow, kernel_rows, ratio
from maxconsole.telemetry.snapshot import Json, name_of, npu_json


@dataclass(frozen=True, slots=True)
class Wall:
    """Seconds that passed on the host, from sending the command on."""

    first_token: float | None  # None when no token came
    total: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a request. `tokens` are those of the reply; a stop token that ended it is not among them.

    `cached` of the prompt's `prompt_tokens` were on the board already. `kernels` is what this request added to the
    board's totals, for all phases and cores. Rates are tokens per second, None where nothing was counted.
    """

    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...] | None  # of the tokens; None unless asked for
    reason: str  # a wire.DoneReason, in words
    int8: bool  # whether the prompt was computed with weights requantized to int8
    npu: str  # a wire.NpuMode, in words: what of the prompt the NPU computed
    npu_f16: bool  # whether it rounded results to fp16
    attention: str  # how attention was computed: a wire.AttentionForm, in words
    prompt_tokens: int
    cached_tokens: int
    prefill_cycles: int
    decode_cycles: int
    counter_hz: int
    counter_events: tuple[int, ...]
    badge: Badge
    sampling: Sampling
    wall: Wall
    kernels: KernelTable
    npu_jobs: NpuTable
    kv: wire.KvState | None
    dropped_events: int  # by the board during this request
    lost_frames: int  # on the way, and those that the board had no room for

    @property
    def route(self) -> str:
        """How it was computed, in words; "" for the file's own weights on the cores, with attention as usual."""
        parts = []
        if self.npu != "off":
            parts.append(f"NPU {self.npu}" + ", results of fp16" * self.npu_f16)
        elif self.int8:
            parts.append("prompt by int8 weights")
        if self.attention != USUAL.attention:
            parts.append(f"{self.attention} attention")
        return ", ".join(parts)

    @property
    def rows(self) -> tuple[KernelRow, ...]:
        """Every kernel that ran, by phase and cycles."""
        return kernel_rows(self.kernels, self.counter_events)

    @property
    def prefilled_tokens(self) -> int:
        """Prompt tokens that were computed and not cached."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def decode_steps(self) -> int:
        """Forward passes of one token each; the first token of an answer comes out of the prefill."""
        return self.kernels.sums(wire.Phase.DECODE, wire.Kernel.STEP).count or max(0, len(self.tokens) - 1)

    @property
    def prefill_rate(self) -> float | None:
        """On the board, by its cycle counter."""
        return ratio(self.prefilled_tokens * self.counter_hz, self.prefill_cycles)

    @property
    def decode_rate(self) -> float | None:
        """On the board, by its cycle counter."""
        return ratio(self.decode_steps * self.counter_hz, self.decode_cycles)

    @property
    def wall_prefill_rate(self) -> float | None:
        """On the host's clock, up to the first token."""
        return ratio(self.prefilled_tokens, self.wall.first_token)

    @property
    def wall_decode_rate(self) -> float | None:
        """On the host's clock, from the first token on."""
        if self.wall.first_token is None or len(self.tokens) < 2:
            return None
        return ratio(len(self.tokens) - 1, self.wall.total - self.wall.first_token)

    def to_json(self) -> Json:
        """Plain dicts, lists, numbers and text."""
        return {
            "text": self.text,
            "tokens": list(self.tokens),
            "logprobs": None if self.logprobs is None else list(self.logprobs),
            "reason": self.reason,
            "int8": self.int8,
            "npu": self.npu,
            "npu_f16": self.npu_f16,
            "attention": self.attention,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "generated_tokens": len(self.tokens),
            "decode_steps": self.decode_steps,
            "badge": {"text": str(self.badge), **asdict(self.badge)},
            "counter_hz": self.counter_hz,
            "prefill": {
                "cycles": self.prefill_cycles,
                "tokens_per_s": self.prefill_rate,
                "wall_tokens_per_s": self.wall_prefill_rate,
            },
            "decode": {
                "cycles": self.decode_cycles,
                "tokens_per_s": self.decode_rate,
                "wall_tokens_per_s": self.wall_decode_rate,
            },
            "wall": {"first_token_s": self.wall.first_token, "total_s": self.wall.total},
            "sampling": asdict(self.sampling),
            "kernels": [asdict(row) for row in self.rows],
            "npu_jobs": npu_json(self.npu_jobs),
            "kv": None if self.kv is None else asdict(self.kv),
            "dropped_events": self.dropped_events,
            "lost_frames": self.lost_frames,
        }


def attention_words(form: int) -> str:
    """A wire.AttentionForm as the command line has it."""
    return (name_of(wire.AttentionForm, form) or "").replace("_", "-")


def reason_words(reason: int) -> str:
    """A wire.DoneReason in words."""
    return (name_of(wire.DoneReason, reason) or "").replace("_", " ")
