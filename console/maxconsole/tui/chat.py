# SPDX-License-Identifier: Apache-2.0
"""The conversation as the screen shows it: turns that grow while an answer streams in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from maxconsole.link.text import printable


class Speaker(StrEnum):
    """Who says it."""

    USER = "user"
    MODEL = "model"
    CONSOLE = "console"  # what went wrong, and what to do


@dataclass(slots=True)
class Turn:
    """One contribution. `text` is safe to print, `note` is the small line below it, `version` grows with changes."""

    speaker: Speaker
    text: str = ""
    note: str = ""
    version: int = 0

    def add(self, piece: str) -> None:
        """Appends text that comes from outside: control characters are shown escaped."""
        if piece:
            self.text += printable(piece, keep="\n\t")
            self.version += 1

    def close(self, note: str) -> None:
        """Sets the small line."""
        self.note = printable(note)
        self.version += 1


@dataclass(slots=True)
class Chat:
    """Turns from the first to the latest. Used by the screen's thread only."""

    turns: list[Turn] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)  # everything the user has sent, for the prompt's history

    def ask(self, text: str) -> Turn:
        """Adds a question and an empty answer, and returns the latter."""
        question = Turn(Speaker.USER)
        question.add(text)
        answer = Turn(Speaker.MODEL)
        self.turns += [question, answer]
        if not self.drafts or self.drafts[-1] != text:
            self.drafts.append(text)
        return answer

    def say(self, text: str) -> None:
        """Adds words of the console itself."""
        turn = Turn(Speaker.CONSOLE)
        turn.add(text)
        self.turns.append(turn)

    @property
    def questions(self) -> list[int]:
        """Where in `turns` the user's questions are."""
        return [index for index, turn in enumerate(self.turns) if turn.speaker is Speaker.USER]

    def cut(self, at: int) -> int:
        """Drops turn `at` and all after it. Returns how many questions are left."""
        del self.turns[at:]
        return len(self.questions)

    def clear(self) -> None:
        """A new conversation; the prompt's history stays."""
        self.turns.clear()
