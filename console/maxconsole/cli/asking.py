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


class AnswerText:
    """An answer on stdout, piece by piece."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._ended = True

    def add(self, piece: str) -> None:
        """Shows a piece at once."""
        if not self._silent:
            print(piece, end="", flush=True)
            self._ended = piece.endswith("\n")

    def end(self) -> None:
        """Ends the last line, if the answer has not."""
        if not self._ended:
            print(flush=True)
        self._ended = True


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
        self._text = AnswerText(silent=not stream)

    def once(self, prompt: tuple[int, ...], words: str) -> Answer:
        """One request, its text streamed to stdout; `words` are what it was made of."""
        generation = self._session.ask(prompt, self._sampling, self._max_tokens, self._progress, words=words)
        with cancelling(self._session.cancel) as interrupts:
            for piece in generation:
                self._progress.clear()
                self._text.add(piece)
        self._progress.clear()
        self._text.end()
        self.interrupted = interrupts.happened
        return generation.answer

    def converse(self, conversation: Conversation, first: str | None, *, figures: bool) -> None:
        """Turn after turn, until the input ends. Figures go to stderr, so that stdout is the conversation."""
        for text in turns(first):
            answer = self.once(conversation.ask(text).prompt, text)
            conversation.answered(answer.tokens)
            if figures:
                for line in summary_lines(answer, self._session.hello):
                    say(f"  {line}")
