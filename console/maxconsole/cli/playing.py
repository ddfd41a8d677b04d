# SPDX-License-Identifier: Apache-2.0
"""A recording on the command line: what `ask` printed, at the pace at which it came."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from maxconsole.cli.asking import AnswerText
from maxconsole.cli.figures import answer_lines, document, summary_lines
from maxconsole.cli.shell import print_lines, say
from maxconsole.session.follower import Answered, Asked, BrokenOff, Event, Said
from maxconsole.session.replay import ReplaySession
from maxconsole.session.results import Answer


class Playing:
    """Plays a session to its end. Questions and figures in between go to stderr, so that stdout is what `ask` wrote."""

    def __init__(self, session: ReplaySession, *, stream: bool) -> None:
        self.answers: list[Answer] = []
        self.broken: list[BrokenOff] = []
        self._session = session
        self._stream = stream
        self._text = AnswerText(silent=not stream)

    def run(self) -> None:
        """Raises UserError for a file that cannot be read to its end."""
        for event in self._session.events():
            self._show(event)
        if self._stream and self.answers:
            print_lines(["", *answer_lines(self.answers[-1], self._session.hello)])
        for note in self._session.notes:
            say(f"note: {note}")

    def document(self) -> dict[str, Any]:
        """What `ask --json` prints; where there was not exactly one answer, all of them."""
        found = document(self._session.about, self.answers)
        return {**found, "broken_off": [asdict(one) for one in self.broken]} if self.broken else found

    def _show(self, event: Event) -> None:
        match event:
            case Asked():
                self._question(event)
            case Said():
                self._text.add(event.text)
            case Answered():
                self._text.end()
                self.answers.append(event.answer)
            case BrokenOff():
                self._text.end()
                self.broken.append(event)
                say(f"note: {event.why}")

    def _question(self, asked: Asked) -> None:
        if not self._stream:
            return
        if self.answers:
            for line in summary_lines(self.answers[-1], self._session.hello):
                say(f"  {line}")
        say(f"> {asked.words or f'a prompt of {asked.prompt_tokens} tokens'}")
