# SPDX-License-Identifier: Apache-2.0
"""One request as it goes over the link, folded into text as it comes and into an Answer when it has ended."""

from __future__ import annotations

from maxconsole.link.text import printable
from maxconsole.models.tokenizer import Detokenizer
from maxconsole.schema import wire
from maxconsole.session.machine import Badge
from maxconsole.session.results import Answer, Wall, attention_words, reason_words
from maxconsole.session.sampling import Sampling
from maxconsole.telemetry.npu import since
from maxconsole.telemetry.snapshot import Snapshot, name_of

_NS = 1e9


class Transcript:
    """What a board says to `command`, which was sent at `sent_ns`, when the board stood as in `before`.

    All of it depends only on what goes over the link, and when. Therefore a recording has the same Answer as the
    session had.
    """

    def __init__(self, command: wire.Generate, sent_ns: int, before: Snapshot, stream: Detokenizer) -> None:
        self.command = command
        self._sent_ns = sent_ns
        self._before = before
        self._stream = stream
        self._tokens: list[int] = []
        self._logprobs: list[float] = []
        self._text: list[str] = []
        self._first_token_ns: int | None = None
        self._done: wire.Done | None = None
        self._done_ns = 0

    @property
    def ended(self) -> bool:
        """Whether the board has said that it is done."""
        return self._done is not None

    @property
    def tokens(self) -> tuple[int, ...]:
        """Those of the reply so far."""
        return tuple(self._tokens)

    @property
    def text(self) -> str:
        """That of the reply so far."""
        return "".join(self._text)

    def take(self, message: wire.Token | wire.Done, at_ns: int) -> str:
        """The text that a message of this request completes, perhaps none; control characters are escaped."""
        if isinstance(message, wire.Token):
            if self._first_token_ns is None:
                self._first_token_ns = at_ns
            self._tokens.append(message.token)
            self._logprobs.append(message.logprob)
            text = self._stream.feed(message.token)
        else:
            self._done, self._done_ns = message, at_ns
            text = self._stream.finish()
        piece = printable(text, keep="\n\t")
        if piece:
            self._text.append(piece)
        return piece

    def answer(self, after: Snapshot, hello: wire.Hello, badge: Badge) -> Answer:
        """The result. `after`: how the board stands now that it has been asked for its KV state and its status."""
        done, before = self._done, self._before
        if done is None:
            raise RuntimeError("the request has not ended")
        first = None if self._first_token_ns is None else (self._first_token_ns - self._sent_ns) / _NS
        return Answer(
            text=self.text,
            tokens=self.tokens,
            logprobs=tuple(self._logprobs) if self.command.flags & wire.GenerateFlag.LOGPROBS else None,
            reason=reason_words(done.reason),
            int8=bool(done.int8),
            npu=name_of(wire.NpuMode, done.npu) or "",
            npu_f16=bool(done.npu_f16),
            attention=attention_words(done.attention),
            prompt_tokens=self.command.keep + self.command.prompt_tokens,
            cached_tokens=self.command.keep,
            prefill_cycles=done.prefill_cycles,
            decode_cycles=done.decode_cycles,
            counter_hz=hello.counter_hz,
            counter_events=hello.counter_events,
            badge=badge,
            sampling=Sampling.of(self.command),
            wall=Wall(first, (self._done_ns - self._sent_ns) / _NS),
            kernels=after.kernels - before.kernels,
            npu_jobs=since(after.npu, before.npu),
            kv=after.kv,
            dropped_events=after.dropped_events - before.dropped_events,
            lost_frames=after.link.lost_frames - before.link.lost_frames,
        )
