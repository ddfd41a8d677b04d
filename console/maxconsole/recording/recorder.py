# SPDX-License-Identifier: Apache-2.0
"""Writes the link's bytes to an MCAP file from a thread of its own, at most a flush period behind."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Final, Protocol

from mcap.writer import IndexType, Writer

from maxconsole import __version__
from maxconsole.errors import UserError
from maxconsole.recording.facts import Facts
from maxconsole.recording.layout import PROFILE, SEQUENCE_MASK, Channel

#: What a kill -9 can lose is what came in this time, and in the time that one flush takes.
FLUSH_PERIOD: Final = 0.25
#: Bytes that may wait for the disk. A slower disk loses transfers, and the file says so by a gap in their numbers.
BACKLOG_MAX: Final = 64 << 20
#: How long `close` waits for the disk.
_CLOSE_PATIENCE: Final = 15.0

_HINTS: Final = {
    errno.EEXIST: "choose another name, or overwrite it with --force",
    errno.ENOENT: "create its folder first",
    errno.EISDIR: "name a file in it",
    errno.EACCES: "choose a folder that you can write",
    errno.EROFS: "choose a folder that you can write",
    errno.ENOSPC: "free some space, or record to another disk",
    errno.EDQUOT: "free some space, or record to another disk",
    errno.EAGAIN: "another console is recording to it; choose another name",
}


def check_target(path: Path, *, force: bool = False) -> None:
    """Raises the UserError that a Recorder would, where that can be known before there is anything to record."""
    code = errno.EEXIST if path.exists() and not force else 0 if path.parent.is_dir() else errno.ENOENT
    if code:
        raise _explained("cannot record to", path, OSError(code, os.strerror(code)))


class Recorder:
    """A recording in the making, as the link's Observer. `received`, `sent` and `asked` cost a few microseconds.

    `received` may be called from one thread, `sent` and `asked` from another. Trouble with the file ends the recording
    and not the session: it is kept in `failure` and handed to `on_failure`, in the recorder's thread, which must not
    close it; what came before stays readable. Every flush that had anything to write costs some 300 bytes of memory.
    """

    def __init__(
        self,
        path: Path,
        facts: Facts,
        *,
        force: bool = False,
        on_failure: Callable[[UserError], None] | None = None,
    ) -> None:
        """Creates the file, with everything that `facts` has; the versions and the start are filled in here.

        Raises UserError when it cannot be written, and when it exists and `force` is not given.
        """
        self.path = path
        self.failure: UserError | None = None
        self._on_failure = on_failure
        self._received = _Side(Channel.FROM_BOARD)
        self._sent = _Side(Channel.TO_BOARD)
        self._asked = _Side(Channel.ASKED)
        self._backlog: deque[tuple[Channel, int, int, int, bytes]] = deque()
        self._written = 0
        self._last_ns = 0
        self._stopping = threading.Event()
        self._closing = threading.Lock()
        self.facts = replace(
            facts, console=__version__, started_ns=time.time_ns(), started_monotonic_ns=time.monotonic_ns()
        )
        try:
            self._file, created = _create(path, force)
        except OSError as error:
            raise _explained("cannot record to", path, error) from error
        try:
            self._writer = _start(self._file, self.facts)
        except BaseException as error:
            _abandon(self._file)
            if created:
                path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise _explained("cannot record to", path, error) from error
            raise
        self._thread = threading.Thread(target=self._run, name="maxconsole-recorder", daemon=True)
        self._thread.start()

    @property
    def recorded_bytes(self) -> int:
        """Bytes that are in the file or on their way to it."""
        return self._received.accepted + self._sent.accepted + self._asked.accepted

    @property
    def dropped(self) -> int:
        """Transfers that are missing because the disk was too slow."""
        return self._received.dropped + self._sent.dropped + self._asked.dropped

    def received(self, data: bytes, at_ns: int, /) -> None:
        """Keeps what one read of the transport gave."""
        self._take(self._received, data, at_ns)

    def sent(self, data: bytes, at_ns: int, /) -> None:
        """Keeps what one write of the transport is given."""
        self._take(self._sent, data, at_ns)

    def asked(self, words: str) -> None:
        """Keeps what the user says, now, before the prompt is sent that it becomes."""
        self._take(self._asked, words.encode(), time.monotonic_ns())

    def close(self) -> None:
        """Writes what is left, and the index. Closing twice is harmless.

        Raises UserError when the disk did not take everything, also if that was long ago.
        """
        with self._closing:
            self._stopping.set()
            self._thread.join(_CLOSE_PATIENCE)
            if self._thread.is_alive() and self.failure is None:
                self._fail(TimeoutError(errno.ETIMEDOUT, f"the disk did not take it within {_CLOSE_PATIENCE:g} s"))
            if self.failure is not None:
                raise self.failure

    def _take(self, side: _Side, data: bytes, at_ns: int) -> None:
        if not data or self.failure is not None or self._stopping.is_set():
            return
        sequence = side.sequence
        side.sequence = sequence + 1
        if self.recorded_bytes - self._written > BACKLOG_MAX:
            side.dropped += 1
            return
        side.accepted += len(data)
        self._backlog.append((side.channel, sequence, at_ns, time.time_ns(), data))

    def _run(self) -> None:
        try:
            while not self._stopping.wait(FLUSH_PERIOD):
                self._drain()
            self._drain()
            self._writer.finish()
            self._file.close()
        except Exception as error:  # whatever it is, the session goes on and its user must learn of it
            self._fail(error)
            _abandon(self._file)

    def _drain(self) -> None:
        """Writes the backlog out, as a chunk that can be read on its own."""
        waiting = len(self._backlog)
        for _ in range(waiting):
            channel, sequence, monotonic_ns, wall_ns, data = self._backlog.popleft()
            # The link keeps its two directions in order; a question comes past it.
            self._last_ns = max(self._last_ns, monotonic_ns)
            log_ns = self.facts.started_ns + self._last_ns - self.facts.started_monotonic_ns
            self._writer.add_message(channel, log_ns, data, wall_ns, sequence & SEQUENCE_MASK)
            self._written += len(data)
        if waiting:
            self._writer.flush()

    def _fail(self, error: Exception) -> None:
        self.failure = _explained("recording has stopped:", self.path, error)
        self._backlog.clear()
        if self._on_failure is not None:
            self._on_failure(self.failure)


def _explained(what: str, path: Path, error: Exception) -> UserError:
    code = error.errno if isinstance(error, OSError) else None
    reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
    failure = UserError(f"{what} {path}: {reason}", hint=_HINTS.get(code or 0, ""))
    failure.__cause__ = error
    return failure


class _Side:
    """One channel; only the thread that brings its bytes changes it."""

    __slots__ = ("accepted", "channel", "dropped", "sequence")

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.accepted = 0
        self.dropped = 0
        self.sequence = 0


class _McapWriter(Protocol):
    """What is used of mcap.writer.Writer, which has no complete types."""

    def add_message(self, channel_id: int, log_time: int, data: bytes, publish_time: int, sequence: int, /) -> None: ...

    def flush(self) -> None: ...

    def finish(self) -> None: ...


def _create(path: Path, force: bool) -> tuple[IO[bytes], bool]:
    """The locked, empty file, and whether it is new. It has a buffer, because the writer forgets to flush its own."""
    exclusive = 0 if force and path.exists() else os.O_EXCL
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | exclusive, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.ftruncate(descriptor, 0)
        return os.fdopen(descriptor, "wb"), bool(exclusive)
    except OSError:
        os.close(descriptor)
        raise


def _start(file: IO[bytes], facts: Facts) -> _McapWriter:
    """Writes header and facts out, and declares the channels, which go into the first chunk."""
    # Without the index of single messages the file is a third smaller; the one of chunks is enough to seek.
    writer = Writer(file, index_types=IndexType.ALL & ~IndexType.MESSAGE)
    writer.start(PROFILE, f"maxconsole {facts.console}")
    for name, (media_type, data) in facts.attachments().items():
        writer.add_attachment(facts.started_ns, facts.started_ns, name, media_type, data)
    schema = writer.register_schema("bytes", "", b"")
    for channel in Channel:
        if writer.register_channel(channel.topic, "", schema) != channel:
            raise AssertionError("mcap numbers channels from 1 on, in order")
    file.flush()
    return writer


def _abandon(file: IO[bytes]) -> None:
    with contextlib.suppress(OSError):  # flushing what the disk has refused fails once more, and then it is closed
        file.close()
