# SPDX-License-Identifier: Apache-2.0
"""A recording shown as if it were a board: the same link, the same telemetry, the same panes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from maxconsole.errors import UserError
from maxconsole.link.client import Link
from maxconsole.recording.reader import Recording as RecordingFile
from maxconsole.recording.replay import ReplayTransport
from maxconsole.session.machine import Badge
from maxconsole.telemetry.fold import Telemetry
from maxconsole.tui.badges import badge_words
from maxconsole.tui.seam import Generating, Identity, Playback, Player, Progress, Recording, Reply

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot

_NS = 1e9


class ReplaySession:
    """See maxconsole.tui.seam.Session; it is its own Player."""

    def __init__(self, path: Path, *, speed: float = 1.0, paused: bool = False) -> None:
        """Raises UserError for a file that is no recording, and for a speed below 0."""
        self._recording = RecordingFile.open(path)
        try:
            self._telemetry = Telemetry()
            self._transport = ReplayTransport(self._recording, speed=speed, paused=paused)
            self._link = Link(self._transport, self._telemetry)
        except BaseException:
            self._recording.close()
            raise
        facts = self._recording.facts
        model = str(facts.model.get("name", "")) or path.stem
        badge = Badge(facts.modelled, facts.timing_model or None, facts.timed)
        self._identity = Identity(facts.board, model, "replay", badge_words(badge), can_ask=False)

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def player(self) -> Player:
        return self

    def playback(self) -> Playback:
        return Playback(
            at=self._transport.position_ns / _NS,
            length=self._transport.duration_ns / _NS,
            speed=self._transport.speed,
            paused=self._transport.paused,
            ended=self._transport.at_end,
        )

    def pause(self, paused: bool, /) -> None:
        self._transport.pause() if paused else self._transport.resume()

    def set_speed(self, speed: float, /) -> None:
        self._transport.speed = speed

    def again(self) -> None:
        """Plays from the start: figures are sums over what came before, so all of it is folded anew."""
        transport = self._transport.restarted()
        self._link.close()
        self._telemetry, self._transport = Telemetry(), transport
        self._link = Link(transport, self._telemetry)

    def snapshot(self) -> Snapshot:
        return self._telemetry.snapshot()

    def check(self) -> None:
        """Raises UserError where the recording cannot be read any further."""
        while self._link.receive(0) is not None:  # nobody waits for answers here
            pass

    def ask(self, question: str, generating: Generating, progress: Progress) -> Iterator[str]:
        raise UserError("a recording cannot be asked anything", hint="F5 starts a board")

    @property
    def reply(self) -> Reply:
        raise RuntimeError("nothing has been asked")

    def cancel(self) -> None:
        """Nothing runs."""

    def keep(self, questions: int) -> None:
        """Nothing has been said."""

    def verify(self, progress: Progress) -> str:
        raise UserError("a recording has no memory to look at", hint="F5 starts a board")

    def record(self) -> Recording:
        raise UserError("this is a recording already")

    def close(self) -> None:
        with contextlib.suppress(UserError):  # a damaged file has been reported when it was read
            self._link.close()
        self._recording.close()
