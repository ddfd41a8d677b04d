# SPDX-License-Identifier: Apache-2.0
"""Where the chunks of a recording are: from the index at its end, or, without one, from a walk along its records."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from mcap.opcode import Opcode

from maxconsole.recording.container import CHUNK_HEAD, HEAD, Chunk, DamagedError, File, chunk_at, head_at, summary

#: A chunk index record as the recorder writes it: zstd, and no index of single messages.
_ENTRY: Final = np.dtype(
    [
        ("opcode", "u1"),
        ("content", "<u8"),
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("offset", "<u8"),
        ("length", "<u8"),
        ("offsets_size", "<u4"),
        ("index_length", "<u8"),
        ("name_size", "<u4"),
        ("name", "S4"),
        ("compressed", "<u8"),
        ("uncompressed", "<u8"),
    ]
)
_CHUNK: Final = np.dtype([(name, "<u8") for name in Chunk._fields])
#: The end of a chunk's head, by which the next chunk after damage is found.
_SIGNATURE: Final = b"\x04\x00\x00\x00zstd"
_SIGNATURE_OFFSET: Final = HEAD.size + CHUNK_HEAD.size - 4
_SEARCH_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Index:
    """The chunks in the order of the file, which is that of time."""

    chunks: npt.NDArray[np.void]
    closed: bool  # the recorder wrote its end
    unreadable_bytes: int  # of the file, between and after the chunks

    def from_time(self, log_ns: int) -> Iterator[Chunk]:
        """The chunks from the first on that has anything at `log_ns` or later."""
        first = bisect.bisect_left(self.chunks, log_ns, key=lambda entry: int(entry["end_ns"]))
        for entry in self.chunks[first:]:
            yield Chunk(*(int(value) for value in entry))

    @property
    def end_ns(self) -> int | None:
        """The log time of the last message."""
        return int(self.chunks["end_ns"][-1]) if len(self.chunks) else None


def read_index(file: File, data_start: int) -> Index:
    """The index of a file whose records begin at `data_start`. Damage costs the chunks that it has hit."""
    try:
        return Index(_entries(summary(file)), closed=True, unreadable_bytes=0)
    except DamagedError:
        return _walk(file, data_start)


def _entries(data: bytes) -> npt.NDArray[np.void]:
    """The chunk index records of a summary. Raises DamagedError for any that the recorder would not have written."""
    offset = 0
    while offset + HEAD.size <= len(data):
        opcode, length = HEAD.unpack_from(data, offset)
        if opcode == Opcode.CHUNK_INDEX:
            break
        offset += HEAD.size + length
    run = np.frombuffer(data, _ENTRY, max(0, len(data) - offset) // _ENTRY.itemsize, min(offset, len(data)))
    others = np.flatnonzero(run["opcode"] != Opcode.CHUNK_INDEX)
    run = run[: others[0]] if len(others) else run
    ours = (run["content"] == _ENTRY.itemsize - HEAD.size) & (run["offsets_size"] == 0) & (run["name"] == b"zstd")
    if not ours.all():
        raise DamagedError("its index is another program's")
    chunks = np.empty(len(run), _CHUNK)
    for name in Chunk._fields:
        chunks[name] = run[name]
    return chunks


def _walk(file: File, data_start: int) -> Index:
    """Follows the records from head to head, and searches for the next chunk where there is no head."""
    chunks: list[Chunk] = []
    closed = False
    unreadable = 0
    offset = data_start
    while offset < file.size and not closed:
        try:
            chunk = chunk_at(file, offset)
            chunks.append(chunk)
            offset += chunk.length
        except DamagedError:
            following, closed = _after_other(file, offset)
            if following is None:
                following = _next_chunk(file, offset + 1)
                unreadable += following - offset
            offset = following
    return Index(np.array(chunks, _CHUNK), closed, unreadable)


def _after_other(file: File, offset: int) -> tuple[int | None, bool]:
    """Where the record at `offset` ends, if it is a good one and no chunk; and whether it closes the data."""
    try:
        opcode, length = head_at(file, offset)
    except DamagedError:
        return None, False
    if opcode == Opcode.CHUNK or opcode > max(Opcode):
        return None, False
    return offset + length, opcode == Opcode.DATA_END


def _next_chunk(file: File, offset: int) -> int:
    """Where the next chunk begins, or the end of the file."""
    position = offset + _SIGNATURE_OFFSET
    while position + len(_SIGNATURE) <= file.size:
        block = file.at(position, min(_SEARCH_BYTES, file.size - position))
        found = block.find(_SIGNATURE)
        if found < 0:
            position += max(1, len(block) - len(_SIGNATURE) + 1)
            continue
        candidate = position + found - _SIGNATURE_OFFSET
        try:
            return chunk_at(file, candidate).offset
        except DamagedError:
            position += found + 1
    return file.size
