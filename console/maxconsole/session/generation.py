# SPDX-License-Identifier: Apache-2.0
"""One request to the engine: sends the prompt, yields the text as it comes, and has the board say what it cost."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from maxconsole.errors import BoardError
from maxconsole.link.client import Link, Pending
from maxconsole.link.frames import PAYLOAD_MAX
from maxconsole.models.tokenizer import Tokenizer
from maxconsole.schema import wire
from maxconsole.session.machine import Badge
from maxconsole.session.progress import Progress
from maxconsole.session.results import Answer
from maxconsole.session.sampling import Sampling
from maxconsole.session.transcript import Transcript
from maxconsole.telemetry.fold import Telemetry

_TOKEN_BYTES = 4
_PART_TOKENS = (PAYLOAD_MAX - wire.PromptPart.SIZE) // _TOKEN_BYTES
#: How long one look for news may take: bounds how late a cancellation is sent.
_SLICE = 0.1
#: How long an abandoned request may take to end.
_DRAIN = 30.0
_QUERY_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the engine. The `prompt` follows the first `keep` cached tokens."""

    number: int
    prompt: Sequence[int]
    keep: int
    max_new: int
    sampling: Sampling
    stop: Sequence[int] = ()
    flags: int = 0  # of wire.GenerateFlag

    def generate(self) -> wire.Generate:
        """The command."""
        sampling = self.sampling
        return wire.Generate(
            request=self.number,
            keep=self.keep,
            prompt_tokens=len(self.prompt),
            max_new=self.max_new,
            flags=self.flags | (wire.GenerateFlag.LOGPROBS if sampling.logprobs else 0),
            top_k=sampling.top_k,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            repeat_penalty=sampling.repeat_penalty,
            repeat_window=sampling.repeat_window,
            seed=sampling.seed or 0,
            stop_count=len(self.stop),
            stop=tuple(self.stop),
        )


@dataclass(frozen=True, slots=True)
class Board:
    """What a request needs of a session."""

    link: Link
    telemetry: Telemetry
    tokenizer: Tokenizer
    hello: wire.Hello
    badge: Badge
    watch: Callable[[str], None]  # told what is waited for; raises when the board is dead or silent for too long
    fault: Callable[[wire.Fault], BoardError]
    ended: Callable[[Sequence[int]], None]  # told the tokens of the answer, after the board has told its KV state


def send_prompt(link: Link, request: Request) -> None:
    """Hands the board the prompt, in as many parts as it takes. Raises RefusedError."""
    for offset in range(0, len(request.prompt), _PART_TOKENS):
        tokens = tuple(request.prompt[offset : offset + _PART_TOKENS])
        link.request(wire.PromptPart(request=request.number, offset=offset, tail=tokens))


def abandon(link: Link, request: int) -> None:
    """Cancels a request and waits for its end, so that the next one finds the board idle.

    A board that no longer listens is given up on: the error that brought us here is the one that matters.
    """
    with contextlib.suppress(BoardError):
        link.send(wire.Cancel(request=request))
        end = time.monotonic() + _DRAIN
        while time.monotonic() < end:
            news = link.receive(_SLICE)
            if isinstance(news, wire.Done) and news.request == request:
                return


class Generation:
    """Iterate over it for the pieces of text; then `answer` is there.

    Leaving the iteration early, also by an exception, cancels the request and waits until the board has ended it.
    """

    def __init__(self, board: Board, request: Request, cancel: threading.Event, progress: Progress) -> None:
        self._board = board
        self._request = request
        self._cancel = cancel
        self._progress = progress
        self._answer: Answer | None = None

    @property
    def answer(self) -> Answer:
        """The result. Raises RuntimeError before the iteration has ended."""
        if self._answer is None:
            raise RuntimeError("the request has not ended")
        return self._answer

    def __iter__(self) -> Iterator[str]:
        """Pieces of text, control characters escaped. Raises RefusedError, BoardError."""
        board = self._board
        before = board.telemetry.snapshot()
        send_prompt(board.link, self._request)
        command = self._request.generate()
        pending = board.link.send(command)
        transcript = Transcript(command, pending.sent_ns, before, board.tokenizer.stream())
        try:
            yield from self._pieces(pending, transcript)
        except BoardError:
            raise  # nothing runs any more that could be cancelled
        except BaseException:
            abandon(board.link, self._request.number)
            raise
        for item in (wire.QueryItem.KV_STATE, wire.QueryItem.STATUS):
            board.link.request(wire.Query(item=item), timeout=_QUERY_TIMEOUT)
        board.ended(transcript.tokens)
        self._answer = transcript.answer(board.telemetry.snapshot(), board.hello, board.badge)

    def _pieces(self, pending: Pending, transcript: Transcript) -> Iterator[str]:
        while not transcript.ended:
            match self._news(pending):
                case wire.Progress() as progress:
                    words = f"{progress.done} of {progress.total} tokens"
                    self._progress("prefill", progress.done, progress.total, words)
                case wire.Token() | wire.Done() as message:
                    if text := transcript.take(message, self._board.link.received_ns):
                        yield text

    def _news(self, pending: Pending) -> wire.Token | wire.Progress | wire.Logits | wire.Done | None:
        """The next message about this request, or None after a moment.

        Sends a cancellation that is due. Raises RefusedError, and BoardError when there is nothing to wait for.
        """
        pending.wait(0)
        if self._cancel.is_set():
            self._cancel.clear()
            self._board.link.send(wire.Cancel(request=self._request.number))
        news = self._board.link.receive(_SLICE)
        if news is None:
            self._board.watch("an answer")
        elif isinstance(news, wire.Fault):
            raise self._board.fault(news)
        elif isinstance(news, wire.Hello):
            raise BoardError("the board has restarted in the middle of a request", hint="flash again to go on")
        elif news.request == self._request.number:
            return news
        return None
