# SPDX-License-Identifier: Apache-2.0
"""Recordings opened, searched and checked, whole or damaged."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from mcap.opcode import Opcode

from maxconsole.errors import UserError
from maxconsole.recording import container
from maxconsole.recording.container import MAGIC, Chunk, DamagedError, File
from maxconsole.recording.facts import Facts, read_facts
from maxconsole.recording.index import Index, read_index
from maxconsole.recording.layout import PROFILE, SEQUENCE_MASK, Channel, Transfer

#: Header and facts are a few KiB; what claims to be larger is no recording.
_FACTS_MAX: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Loss:
    """What a recording lacks. Transfers count those of damaged chunks and those that the disk was too slow for."""

    closed: bool  # False: the console was killed, or is still recording
    unreadable_bytes: int  # of the file
    damaged_chunks: int
    damaged_ns: int  # the time that these chunks covered
    missing_transfers: int

    def __bool__(self) -> bool:
        return not self.closed or bool(self.unreadable_bytes or self.damaged_chunks or self.missing_transfers)

    def __str__(self) -> str:
        parts = []
        if not self.closed:
            parts.append("the recording was not closed, so up to its last 0.5 s may be missing")
        if self.unreadable_bytes:
            parts.append(f"{self.unreadable_bytes} bytes of the file are unreadable")
        if self.damaged_chunks:
            parts.append(f"{self.damaged_chunks} damaged chunks, {self.damaged_ns / 1e9:.2f} s, are left out")
        if self.missing_transfers:
            parts.append(f"{self.missing_transfers} transfers are missing")
        return "; ".join(parts) or "nothing is missing"


class Recording:
    """A recording on disk. Reading goes by position: several iterations, in several threads, do not disturb each other.

    Damage is found when it is read: `open` looks at the index only, and `check` at everything.
    """

    def __init__(self, path: Path, file: File, facts: Facts, index: Index) -> None:
        """For `open`, which takes the file apart."""
        self.path = path
        self.facts = facts
        self._file = file
        self._index = index
        self._damaged: set[Chunk] = set()

    @classmethod
    def open(cls, path: Path) -> Recording:
        """Raises UserError for a file that is missing, unreadable, empty, cut off within the facts, or foreign."""
        try:
            file = File(path)
        except OSError as error:
            hint = "check the name" if error.errno == errno.ENOENT else ""
            raise UserError(f"cannot open the recording {path}: {error.strerror}", hint=hint) from error
        try:
            if not file.regular:
                raise UserError(f"{path} is not a file", hint="give the file that `maxconsole record` has written")
            attachments, data_start = _front(file, path)
            return cls(path, file, read_facts(attachments, str(path)), read_index(file, data_start))
        except BaseException:
            file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def duration_ns(self) -> int:
        """From the start to the last transfer."""
        end = self._index.end_ns
        return 0 if end is None else max(0, end - self.facts.started_ns)

    @property
    def loss(self) -> Loss:
        """What is missing, as far as has been read by now; transfers are counted by `check` only."""
        damaged_ns = sum(chunk.end_ns - chunk.start_ns for chunk in list(self._damaged))
        return Loss(self._index.closed, self._index.unreadable_bytes, len(self._damaged), damaged_ns, 0)

    def transfers(self, start_ns: int = 0) -> Iterator[Transfer]:
        """All transfers from `start_ns` after the start on, in order. Damaged chunks are left out, and in `loss`."""
        for chunk in self._index.from_time(self.facts.started_ns + start_ns):
            for transfer in self._read(chunk):
                if transfer.time_ns >= start_ns:
                    yield transfer

    def check(self) -> Loss:
        """Reads everything, and says what is not there."""
        missing = 0
        expected = dict.fromkeys(Channel, 0)
        for chunk in self._index.from_time(0):
            for transfer in self._read(chunk):
                missing += (transfer.sequence - expected[transfer.channel]) & SEQUENCE_MASK
                expected[transfer.channel] = transfer.sequence + 1
        return replace(self.loss, missing_transfers=missing)

    def close(self) -> None:
        """Closes the file. Closing twice is harmless."""
        self._file.close()

    def _read(self, chunk: Chunk) -> list[Transfer]:
        started = self.facts.started_ns
        try:
            return [
                Transfer(Channel(one.channel), one.log_ns - started, one.publish_ns, one.sequence, one.data)
                for one in container.messages(self._file, chunk)
            ]
        except (DamagedError, ValueError):  # ValueError: a channel that a recording does not have
            self._damaged.add(chunk)
            return []


def _front(file: File, path: Path) -> tuple[dict[str, bytes], int]:
    """The attachments at the beginning, and where they end."""
    if not file.size:
        raise UserError(f"{path} is empty", hint="its recording was stopped before anything was written")
    foreign = UserError(f"{path} is not a recording", hint="give a file that `maxconsole record` has written")
    try:
        if file.at(0, min(file.size, len(MAGIC))) != MAGIC[: file.size]:
            raise foreign
        offset = len(MAGIC)
        opcode, length = container.head_at(file, offset)
        if opcode != Opcode.HEADER or length > _FACTS_MAX:
            raise foreign
        if container.profile(file.at(offset, length)) != PROFILE:
            raise UserError(f"{path} is an MCAP file of another program, and not a recording")
        attachments: dict[str, bytes] = {}
        offset += length
        while size := _attachment_size(file, offset):
            name, data = container.attachment(file.at(offset, size))
            attachments[name] = data
            offset += size
    except DamagedError as error:
        raise UserError(f"the beginning of {path} is damaged: {error}", hint="restore the file from a copy") from error
    return attachments, offset


def _attachment_size(file: File, offset: int) -> int:
    """The length of the attachment's record at `offset`, 0 where there is none.

    Damage behind the facts is for the index to get around.
    """
    try:
        opcode, length = container.head_at(file, offset)
    except DamagedError:
        return 0
    return length if opcode == Opcode.ATTACHMENT and length <= _FACTS_MAX else 0
