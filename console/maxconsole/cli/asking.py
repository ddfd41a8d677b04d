# SPDX-License-Identifier: Apache-2.0
"""Requests on the command line: the answer streamed to stdout, Ctrl-C that stops it, turn after turn."""

from __future__ import annotations

from maxconsole.cli.figures import summary_lines
from maxconsole.cli.interrupts import cancelling
from maxconsole.cli.progress import Reporter
from maxconsole.cli.prompts import turns
from maxconsole.cli.shell import say
from maxconsole.models.chat import Conversation
from maxconsole.session.results import Answer
from maxconsole.session.sampling import Sampling
from maxconsole.session.session import Session


class Asking:
    """Runs requests one after the other and shows them."""

    def __init__(
        self, session: Session, sampling: Sampling, max_tokens: int, progress: Reporter, *, stream: bool
    ) -> None:
        self.interrupted = False
        self._session = session
        self._sampling = sampling
        self._max_tokens = max_tokens
        self._progress = progress
        self._stream = stream

    def once(self, prompt: tuple[int, ...]) -> Answer:
        """One request, its text streamed to stdout."""
        generation = self._session.ask(prompt, self._sampling, self._max_tokens, self._progress)
        ended = True
        with cancelling(self._session.cancel) as interrupts:
            for piece in generation:
                self._progress.clear()
                if self._stream:
                    print(piece, end="", flush=True)
                    ended = piece.endswith("\n")
        self._progress.clear()
        if self._stream and not ended:
            print(flush=True)
        self.interrupted = interrupts.happened
        return generation.answer

    def converse(self, conversation: Conversation, first: str | None, *, figures: bool) -> None:
        """Turn after turn, until the input ends. Figures go to stderr, so that stdout is the conversation."""
        for text in turns(first):
            answer = self.once(conversation.ask(text).prompt)
            conversation.answered(answer.tokens)
            if figures:
                for line in summary_lines(answer, self._session.hello):
                    say(f"  {line}")
