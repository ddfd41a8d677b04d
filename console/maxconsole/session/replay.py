# SPDX-License-Identifier: Apache-2.0
"""A recording in place of a board: the same link, the same telemetry, the same answers. Nothing can be asked."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from maxconsole import paths
from maxconsole.errors import UserError
from maxconsole.link.client import Link
from maxconsole.recording import Facts, Recording, ReplayTransport
from maxconsole.schema import wire
from maxconsole.session.about import About, about, badge_of
from maxconsole.session.follower import Event, Follower
from maxconsole.session.machine import Badge
from maxconsole.session.sampling import Sampling
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import Snapshot

_SUFFIX: Final = ".mcap"
_WAIT: Final = 0.05


def list_recordings() -> tuple[str, ...]:
    """Names of the recordings that ship with the console, ascending."""
    return tuple(sorted(file.stem for file in _folder().glob(f"*{_SUFFIX}")))


def find_recording(name: str | Path) -> Path:
    """The file that a user means: a path, or the name of a shipped recording. Raises UserError where there is none."""
    path = Path(name).expanduser()
    if path.exists():
        return path
    if str(name) in list_recordings():
        return _folder() / f"{name}{_SUFFIX}"
    shipped = ", ".join(list_recordings()) or "none"
    raise UserError(f"there is no recording {name}", hint=f"give a file; those that ship with the console: {shipped}")


def _folder() -> Path:
    return paths.profiles_dir() / "sessions"


class ReplaySession:
    """See maxconsole.session.session.Session, of which this has what a recording can give.

    `transport` has the controls: pause, resume, step, speed, seek.
    """

    def __init__(self, recording: Recording, *, speed: float = 1.0, paused: bool = False) -> None:
        """Plays `recording`, and owns it from now on. Raises UserError for a speed below 0."""
        self.recording = recording
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        try:
            self._play(ReplayTransport(recording, speed=speed, paused=paused))
        except BaseException:
            recording.close()
            raise

    @classmethod
    def open(cls, name: str | Path, *, speed: float = 1.0, paused: bool = False) -> Self:
        """Plays a file or a shipped recording. `speed` 0 is at once. Raises UserError for what is no recording."""
        return cls(Recording.open(find_recording(name)), speed=speed, paused=paused)

    @property
    def facts(self) -> Facts:
        """What was known when the recording began."""
        return self.recording.facts

    @property
    def badge(self) -> Badge:
        """Where the figures come from."""
        return badge_of(self.facts)

    @property
    def hello(self) -> wire.Hello:
        """What the board says of itself. Raises UserError as long as it has not."""
        hello = self.snapshot().hello
        if hello is None:
            raise UserError("the recording has no HELLO yet", hint="it was cut off before the board had started")
        return hello

    @property
    def about(self) -> About:
        """What runs where. Raises UserError as `hello` does."""
        return about(self.hello, self.facts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know of this recording, in words: what it lacks, and whether its messages are understood."""
        notes = [str(loss)] if (loss := self.recording.loss) else []
        if self.facts.schema_hash != wire.SCHEMA_HASH:
            notes.append("it was made by another version, whose messages differ: some figures may be missing or wrong")
        return tuple(notes)

    def snapshot(self) -> Snapshot:
        """Everything that the board has reported up to this moment of the recording."""
        return self._telemetry.snapshot()

    def events(self) -> Iterator[Event]:
        """Requests and answers as they come, up to the end. Raises UserError when the file cannot be read further."""
        while True:
            # Looked at first: what had come by then is in the queue, and nothing follows.
            over = self.transport.at_end
            try:
                yield self._events.get(timeout=0 if over else _WAIT)
            except queue.Empty:
                self.check()
                if over:
                    yield from self.take()
                    return

    def take(self) -> list[Event]:
        """The events since the last look, for those who cannot wait."""
        if self.transport.at_end:
            self._follower.end()
        taken = []
        while not self._events.empty():
            taken.append(self._events.get())
        return taken

    def check(self) -> None:
        """Raises UserError where the file cannot be read any further."""
        while self._link.receive(0) is not None:  # the follower has seen them
            pass

    def restart(self, time_ns: int = 0) -> None:
        """Plays again from `time_ns` after the start: everything before is folded anew, at once."""
        transport = self.transport.restarted(time_ns)
        self._link.close()
        self.take()
        self._play(transport)

    def ask(self, prompt: Sequence[int], sampling: Sampling, max_new: int, *_: object, **__: object) -> NoReturn:
        """Raises UserError."""
        raise UserError(
            "this is a recording: it cannot be asked anything new",
            hint="`maxconsole ask` starts the virtual board",
        )

    def close(self) -> None:
        """Ends the replay. Closing twice is harmless."""
        self._link.close()
        self.recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _play(self, transport: ReplayTransport) -> None:
        self.transport = transport
        self._telemetry = Telemetry()
        self._follower = Follower(self.facts, self._telemetry, transport.clock, self._events.put)
        transport.overhear = self._follower.overhear
        self._link = Link(transport, self._follower, clock=transport.clock)
