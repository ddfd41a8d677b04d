# SPDX-License-Identifier: Apache-2.0
"""Speed of prefill and decode on a board, for prompts of fixed lengths."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from maxconsole.boards.planner import DEFAULT_CONTEXT
from maxconsole.boards.ranges import align_up
from maxconsole.errors import BoardError, UserError
from maxconsole.models.chat import with_bos
from maxconsole.session.benchmark_text import Kind, text_of
from maxconsole.session.progress import Progress, silent
from maxconsole.session.results import Answer
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.telemetry.report import ratio
from maxconsole.telemetry.snapshot import Json


@dataclass(frozen=True, slots=True)
class Workload:
    """A prompt of `prompt_tokens` of some kind of text, and an answer of `new_tokens`."""

    name: str
    prompt_tokens: int
    new_tokens: int
    text: Kind = "news"

    @property
    def context(self) -> int:
        """That holds prompt and answer; not less than usual."""
        return max(DEFAULT_CONTEXT, align_up(self.prompt_tokens + self.new_tokens + 1, 64))


#: Summaries of news, of documents and of code, as the report that the engine follows measured them.
WORKLOADS = (Workload("news", 320, 80), Workload("documents", 480, 120, "documents"), Workload("code", 180, 50, "code"))


@dataclass(frozen=True, slots=True)
class SpeedResult:
    """All runs of one workload. Means leave out the slowest and the fastest run where there are more than two."""

    workload: Workload
    answers: tuple[Answer, ...]

    def mean(self, values: Sequence[float | None]) -> float | None:
        """Without the extremes; None where nothing was counted."""
        known = sorted(value for value in values if value is not None)
        kept = known[1:-1] if len(known) > 2 else known
        return statistics.fmean(kept) if kept else None

    @property
    def prefill_rate(self) -> float | None:
        """Tokens per second on the board."""
        return self.mean([answer.prefill_rate for answer in self.answers])

    @property
    def decode_rate(self) -> float | None:
        """Tokens per second on the board."""
        return self.mean([answer.decode_rate for answer in self.answers])

    @property
    def wall_prefill_rate(self) -> float | None:
        """Tokens per second on the host's clock."""
        return self.mean([answer.wall_prefill_rate for answer in self.answers])

    @property
    def wall_decode_rate(self) -> float | None:
        """Tokens per second on the host's clock."""
        return self.mean([answer.wall_decode_rate for answer in self.answers])

    @property
    def spread(self) -> float | None:
        """(slowest - fastest) / mean of all runs' cycles."""
        cycles = [answer.prefill_cycles + answer.decode_cycles for answer in self.answers]
        return ratio(max(cycles) - min(cycles), statistics.fmean(cycles))

    def to_json(self) -> Json:
        """Plain dicts, lists, numbers and text."""
        return {
            **asdict(self.workload),
            "prefill_tokens_per_s": self.prefill_rate,
            "decode_tokens_per_s": self.decode_rate,
            "wall_prefill_tokens_per_s": self.wall_prefill_rate,
            "wall_decode_tokens_per_s": self.wall_decode_rate,
            "spread": self.spread,
            "runs": [answer.to_json() for answer in self.answers],
        }


def measure(session: Session, workload: Workload, runs: int, progress: Progress = silent) -> SpeedResult:
    """Runs a workload `runs` times, each time from an empty cache and to its full length.

    Raises UserError for a workload without tokens, BoardError for an answer that does not have its length.
    """
    if workload.prompt_tokens < 1 or workload.new_tokens < 1:
        raise UserError("a workload needs at least one token of prompt and one of answer")
    prompt = prompt_of(session, workload.prompt_tokens, workload.text)
    answers = []
    for run in range(runs):
        progress(f"{workload.name} {run + 1}/{runs}", 0, 0)
        session.reset()
        generation = session.ask(prompt, GREEDY, workload.new_tokens, stops=False)
        for _ in generation:
            pass
        answer = generation.answer
        if len(answer.tokens) != workload.new_tokens:
            raise BoardError(f"the answer has {len(answer.tokens)} tokens instead of {workload.new_tokens}")
        answers.append(answer)
    return SpeedResult(workload, tuple(answers))


def prompt_of(session: Session, length: int, kind: Kind = "news") -> tuple[int, ...]:
    """Text of exactly `length` tokens."""
    tokenizer = session.prepared.model.tokenizer
    once = tokenizer.encode(text_of(kind)[: 16 * length])
    tokens = with_bos(tokenizer, once * (length // len(once) + 1))
    return tokens[:length]
