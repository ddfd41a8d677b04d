# SPDX-License-Identifier: Apache-2.0
"""A recording shown as if it were a board: the same panes, and a chat that fills by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from maxconsole.errors import UserError
from maxconsole.link.text import printable
from maxconsole.session.about import memory_limit
from maxconsole.session.follower import Answered, Asked, BrokenOff, Event, Said
from maxconsole.session.replay import ReplaySession
from maxconsole.session.route import Route
from maxconsole.tui.badges import badge_words
from maxconsole.tui.figures.choices import Counters
from maxconsole.tui.live import reply_of
from maxconsole.tui.seam import (
    End,
    Generating,
    Heard,
    Identity,
    Piece,
    Playback,
    Player,
    Progress,
    Question,
    Reply,
)

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot

_NS = 1e9


class ReplayedSession:
    """See maxconsole.tui.seam.Session; it is its own Player."""

    def __init__(self, session: ReplaySession) -> None:
        self._session = session
        facts = session.facts
        name = str(facts.model.get("file", "")).removesuffix(".gguf") or str(facts.model.get("name", ""))
        self._identity = Identity(
            board=printable(facts.board),
            model=printable(name) or "unknown model",
            carrier="replay",
            badge=badge_words(session.badge),
            can_ask=False,
            memory_bytes_per_s=memory_limit(facts),
        )

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def player(self) -> Player:
        return self

    def playback(self) -> Playback:
        transport = self._session.transport
        return Playback(
            at=transport.position_ns / _NS,
            length=transport.duration_ns / _NS,
            speed=transport.speed,
            paused=transport.paused,
            ended=transport.at_end,
        )

    def pause(self, paused: bool, /) -> None:
        transport = self._session.transport
        transport.pause() if paused else transport.resume()

    def set_speed(self, speed: float, /) -> None:
        self._session.transport.speed = speed

    def move(self, seconds: float, /) -> None:
        transport = self._session.transport
        target = round(max(0.0, seconds) * _NS)
        if target >= transport.position_ns:
            transport.seek(target)
        else:
            self._session.restart(target)

    def heard(self) -> Sequence[Heard]:
        return [_heard(event) for event in self._session.take()]

    def snapshot(self) -> Snapshot:
        return self._session.snapshot()

    def check(self) -> None:
        self._session.check()

    def ask(self, question: str, generating: Generating, progress: Progress) -> Iterator[str]:
        raise UserError("a recording cannot be asked anything", hint="F5 starts a board")

    @property
    def reply(self) -> Reply:
        raise RuntimeError("nothing has been asked")

    def cancel(self) -> None:
        """Nothing runs."""

    def keep(self, questions: int) -> None:
        """What was said was said."""

    def count(self, counters: Counters) -> None:
        raise UserError("a recording counts what was counted when it was made", hint="F5 starts a board")

    def use(self, route: Route) -> None:
        raise UserError("a recording was computed as it says", hint="F5 starts a board")

    def verify(self, progress: Progress) -> str:
        raise UserError("a recording has no memory to look at", hint="F5 starts a board")

    @property
    def recording(self) -> str:
        return ""

    def record(self) -> str:
        raise UserError("this is a recording already", hint="copy its file")

    def end_recording(self) -> None:
        """None runs."""

    def close(self) -> None:
        self._session.close()


def _heard(event: Event) -> Heard:
    match event:
        case Asked():
            return Question(event.words or f"(a prompt of {event.prompt_tokens} tokens)")
        case Said():
            return Piece(event.text)
        case Answered():
            return End(reply_of(event.answer))
        case BrokenOff():
            return End(None, event.why)
