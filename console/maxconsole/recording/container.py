# SPDX-License-Identifier: Apache-2.0
"""Records of an MCAP file, read by position and distrusted: every length is checked before it is used.

The `mcap` package's reader stops at the first damaged chunk and builds an object for every chunk of the index (20 us
each); this one goes on, and opens a day's recording in a tenth of a second. Layouts: https://mcap.dev/spec.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import zstandard
from mcap.opcode import Opcode

MAGIC: Final = b"\x89MCAP0\r\n"
HEAD: Final = struct.Struct("<BQ")
#: start, end, uncompressed size and CRC, then the length of the compression's name.
CHUNK_HEAD: Final = struct.Struct("<QQQII")
_SIZE: Final = struct.Struct("<Q")
_TEXT: Final = struct.Struct("<I")
_MESSAGE: Final = struct.Struct("<HIQQ")
_FOOTER: Final = struct.Struct("<BQQQI")

#: Ours are 1 MiB and one transfer. What claims to be larger is damaged, or bait.
CHUNK_MAX: Final = 64 << 20
_COMPRESSIONS: Final = (b"zstd", b"")
_NAME_MAX: Final = 4
_CHUNK_BEGIN: Final = HEAD.size + CHUNK_HEAD.size + _NAME_MAX + _SIZE.size


class DamagedError(Exception):
    """The bytes at hand are not what they should be."""


class File:
    """A file read by position, so that several readers can share it."""

    def __init__(self, path: Path) -> None:
        """Opens it; raises OSError."""
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        self.regular = stat.S_ISREG(status.st_mode)  # neither a folder nor a device

    def close(self) -> None:
        """Closing twice is harmless."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def at(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset` on. Raises DamagedError where the file does not have them."""
        if size < 0 or offset < 0 or offset + size > self.size:
            raise DamagedError(f"it ends before byte {offset + size}")
        data = os.pread(self._descriptor, size, offset)
        while len(data) < size:  # one call gives 2 GiB at most, and less when a signal comes
            more = os.pread(self._descriptor, size - len(data), offset + len(data))
            if not more:
                raise DamagedError(f"it has become shorter than {offset + size} bytes")
            data += more
        return data


class Chunk(NamedTuple):
    """Where a chunk is, header included, and the log times of its first and last message."""

    offset: int
    length: int
    start_ns: int
    end_ns: int


class Message(NamedTuple):
    """A message as it stands in a chunk."""

    channel: int
    sequence: int
    log_ns: int
    publish_ns: int
    data: bytes


def head_at(file: File, offset: int) -> tuple[int, int]:
    """Opcode of the record at `offset`, and its length with this head. Raises DamagedError when it does not fit."""
    opcode, content = HEAD.unpack(file.at(offset, HEAD.size))
    if not opcode or offset + HEAD.size + content > file.size:
        raise DamagedError(f"the record at byte {offset} is longer than the file")
    return opcode, HEAD.size + content


def chunk_at(file: File, offset: int) -> Chunk:
    """The chunk at `offset`, of which only the head is read. Raises DamagedError where there is none."""
    head = file.at(offset, _CHUNK_BEGIN)
    opcode, content = HEAD.unpack_from(head)
    start, end, uncompressed, _, name_size = CHUNK_HEAD.unpack_from(head, HEAD.size)
    if opcode != Opcode.CHUNK or name_size > _NAME_MAX or uncompressed > CHUNK_MAX or end < start:
        raise DamagedError(f"there is no chunk at byte {offset}")
    name = head[HEAD.size + CHUNK_HEAD.size :][:name_size]
    (size,) = _SIZE.unpack_from(head, HEAD.size + CHUNK_HEAD.size + name_size)
    length = HEAD.size + content
    if name not in _COMPRESSIONS or content != CHUNK_HEAD.size + name_size + _SIZE.size + size:
        raise DamagedError(f"the head of the chunk at byte {offset} is damaged")
    if offset + length > file.size:
        raise DamagedError(f"the chunk at byte {offset} is longer than the file")
    return Chunk(offset, length, start, end)


def messages(file: File, chunk: Chunk) -> list[Message]:
    """The messages of a chunk whose CRC is right. Raises DamagedError."""
    if chunk_at(file, chunk.offset) != chunk:
        raise DamagedError(f"the chunk at byte {chunk.offset} is not the one in the index")
    record = file.at(chunk.offset, chunk.length)
    _, _, size, crc, name_size = CHUNK_HEAD.unpack_from(record, HEAD.size)
    data = record[HEAD.size + CHUNK_HEAD.size + name_size + _SIZE.size :]
    if name_size:
        data = _decompressed(data, size)
    if len(data) != size or (crc and zlib.crc32(data) != crc):
        raise DamagedError(f"the CRC of the chunk at byte {chunk.offset} is wrong")
    return [_message(content) for opcode, content in _records(data) if opcode == Opcode.MESSAGE]


def attachment(record: bytes) -> tuple[str, bytes]:
    """Name and content of an attachment's whole record. Raises DamagedError."""
    content = record[HEAD.size :]
    if len(content) < 4 or zlib.crc32(content[:-4]) != int.from_bytes(content[-4:], "little"):
        raise DamagedError("the CRC of an attachment is wrong")
    name, rest = _text(content[16:-4])  # after two times
    _, rest = _text(rest)
    return name.decode(errors="replace"), rest[_SIZE.size :]


def profile(record: bytes) -> str:
    """The profile in the header's whole record. Raises DamagedError."""
    return _text(record[HEAD.size :])[0].decode(errors="replace")


def summary(file: File) -> bytes:
    """The summary of a file that was closed properly. Raises DamagedError for any other."""
    end = file.size - len(MAGIC) - _FOOTER.size
    tail = file.at(end, _FOOTER.size + len(MAGIC))
    opcode, length, start, _, crc = _FOOTER.unpack_from(tail)
    if not tail.endswith(MAGIC) or opcode != Opcode.FOOTER or length != _FOOTER.size - HEAD.size or not start:
        raise DamagedError("it was not closed")
    data = file.at(start, end - start)
    if crc and zlib.crc32(tail[: _FOOTER.size - 4], zlib.crc32(data)) != crc:
        raise DamagedError("its index is damaged")
    return data


def _records(data: bytes) -> Iterator[tuple[int, memoryview]]:
    """Opcode and content of the records that fill `data`."""
    view = memoryview(data)
    offset = 0
    while offset < len(data):
        if offset + HEAD.size > len(data):
            raise DamagedError("a chunk ends within a record")
        opcode, length = HEAD.unpack_from(data, offset)
        offset += HEAD.size
        if offset + length > len(data):
            raise DamagedError("a chunk ends within a record")
        yield opcode, view[offset : offset + length]
        offset += length


def _message(content: memoryview) -> Message:
    if len(content) < _MESSAGE.size:
        raise DamagedError("a message is too short")
    channel, sequence, log_ns, publish_ns = _MESSAGE.unpack_from(content)
    return Message(channel, sequence, log_ns, publish_ns, bytes(content[_MESSAGE.size :]))


def _decompressed(data: bytes, size: int) -> bytes:
    try:
        if zstandard.frame_content_size(data) not in (size, -1):  # what it would allocate
            raise DamagedError("the size of a chunk is wrong")
        return zstandard.decompress(data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise DamagedError(f"a chunk does not decompress: {error}") from error


def _text(data: bytes) -> tuple[bytes, bytes]:
    """A text with its length in front, and what follows it."""
    if len(data) < _TEXT.size:
        raise DamagedError("a text is cut off")
    end = _TEXT.size + _TEXT.unpack_from(data)[0]
    if end > len(data):
        raise DamagedError("a text is cut off")
    return data[_TEXT.size : end], data[end:]
