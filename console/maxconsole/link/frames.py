# SPDX-License-Identifier: Apache-2.0
"""Frames on the byte stream: 0x00, COBS(type, core, seq, payload, CRC-32), 0x00; text may lie between frames.

The decoder takes a stream in any pieces and yields the same frames and the same text for every way to cut it.
COBS: S. Cheshire, M. Baker, "Consistent Overhead Byte Stuffing", IEEE/ACM ToN 7(2), 1999. CRC-32 is zlib's.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cobs import cobs

from maxconsole.schema import wire

HEADER_BYTES = wire.FrameHeader.SIZE
CRC_BYTES = 4
PAYLOAD_MAX = wire.FRAME_MAX_BYTES - HEADER_BYTES - CRC_BYTES
#: COBS adds one byte, and one more for every 254.
_ENCODED_MAX = wire.FRAME_MAX_BYTES + 1 + wire.FRAME_MAX_BYTES // 254
#: CRC-32 of any data followed by its own little-endian CRC-32.
_CRC_RESIDUE = 0x2144DF1C

#: The control bytes that text has: tab, line feed, form feed, carriage return, escape.
_TEXT_CONTROLS = b"\t\n\f\r\x1b"
_TEXT_BYTES = bytes(range(0x20, 0x7F)) + _TEXT_CONTROLS
_CONTROLS = bytes(set(range(0x20)) - set(_TEXT_CONTROLS)) + b"\x7f"


class Frame(NamedTuple):
    """One frame that passed its CRC. `type` is a wire.MessageType, or a number of a newer protocol."""

    type: int
    core: int
    seq: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Text:
    """Bytes between frames that are no frame: boot messages, panics. Not necessarily UTF-8."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The text so far of a line whose end has not come: for showing while the stream is silent, not for keeping."""

    data: bytes


#: What a stream consists of.
Item: TypeAlias = Frame | Text


@dataclass(slots=True)
class Counters:
    """What has arrived since the link was opened."""

    bytes: int = 0
    frames: int = 0
    bad_frames: int = 0  # failed COBS, CRC or length, and did not look like text
    lost_frames: int = 0  # missing sequence numbers
    restarts: int = 0  # sequence numbers that went back: the board was reset
    malformed_frames: int = 0  # good CRC, but not the layout of their type
    unknown_frames: int = 0  # good CRC, of a type that this console does not know


def encode_frame(type_: int, seq: int, payload: bytes, core: int = 0) -> bytes:
    """The frame with a 0x00 before and after it, so that it also ends whatever came before.

    Raises ValueError for a payload of more than PAYLOAD_MAX bytes.
    """
    if len(payload) > PAYLOAD_MAX:
        raise ValueError(f"a payload of {len(payload)} bytes, where {PAYLOAD_MAX} is the most")
    body = wire.FrameHeader(type=type_, core=core, seq=seq).pack() + payload
    return b"\0" + bytes(cobs.encode(body + zlib.crc32(body).to_bytes(CRC_BYTES, "little"))) + b"\0"


class Decoder:
    """Turns chunks of the stream into frames and text, and resynchronizes at the next 0x00 after garbage.

    Text without a 0x00 behind it is held until its line ends, or until `finish`, because it could be the start of a
    frame. A frame cannot be mistaken for such a line: it starts with the COBS code 2 when its core number is 0, and
    otherwise has the core number, below CORES_MAX, for its third byte. Text has no such control bytes.
    """

    def __init__(self) -> None:
        self.counters = Counters()
        self._pending = b""  # of the segment after the last 0x00
        self._in_text = False  # the segment has turned out to be text, and part of it is out already
        self._expected: dict[int, int] = {}  # by core

    def feed(self, chunk: bytes) -> list[Item]:
        """Frames and text that `chunk` completes, in order."""
        self.counters.bytes += len(chunk)
        segments = chunk.split(b"\0")
        segments[0] = self._pending + segments[0]
        self._pending = segments.pop()
        items: list[Item] = []
        for segment in segments:
            if segment:
                self._segment(segment, items)
            self._in_text = False
        self._release_lines(items)
        return items

    @property
    def unfinished(self) -> bytes:
        """Text that waits for the end of its line. It stays here, so that looking changes nothing."""
        held = self._pending
        text = self._in_text or (not _has_controls(held[:3]) and looks_like_text(held))
        return held if text else b""

    def finish(self) -> list[Item]:
        """The last text of a stream that has ended, if that did not end with a line."""
        held, self._pending = self.unfinished, b""
        return [Text(held)] if held else []

    def _segment(self, segment: bytes, items: list[Item]) -> None:
        if self._in_text or _must_be_text(segment):
            items.append(Text(segment))
            return
        frame = self._frame(segment)
        if frame is not None:
            items.append(frame)
        elif looks_like_text(segment):
            items.append(Text(segment))
        else:
            self.counters.bad_frames += 1

    def _frame(self, segment: bytes) -> Frame | None:
        try:
            body = cobs.decode(segment)
        except cobs.DecodeError:
            return None
        if not HEADER_BYTES + CRC_BYTES <= len(body) <= wire.FRAME_MAX_BYTES or zlib.crc32(body) != _CRC_RESIDUE:
            return None
        seq = body[2] | body[3] << 8
        self._count(body[1], seq)
        return Frame(body[0], body[1], seq, body[HEADER_BYTES:-CRC_BYTES])

    def _count(self, core: int, seq: int) -> None:
        """Every core numbers its own frames."""
        self.counters.frames += 1
        gap = (seq - self._expected.get(core, seq)) & 0xFFFF
        if gap < 0x8000:
            self.counters.lost_frames += gap
        elif core == 0:
            self.counters.restarts += 1
        self._expected[core] = (seq + 1) & 0xFFFF

    def _release_lines(self, items: list[Item]) -> None:
        """Lets whole lines of text go, and everything of a line that is longer than a frame."""
        pending = self._pending
        self._in_text = self._in_text or _must_be_text(pending)
        if not self._in_text:
            return
        end = len(pending) if len(pending) > _ENCODED_MAX else pending.rfind(b"\n") + 1
        if end:
            items.append(Text(pending[:end]))
            self._pending = pending[end:]


def looks_like_text(data: bytes) -> bool:
    """Whether at least three quarters of `data` are printable; UTF-8 counts as printable."""
    try:
        data.decode()
        odd = len(data) - len(data.translate(None, _CONTROLS))
    except UnicodeDecodeError:
        odd = len(data.translate(None, _TEXT_BYTES))
    return odd * 4 <= len(data)


def _must_be_text(segment: bytes) -> bool:
    """Whether (the start of) a segment is too long for a frame, or begins like text and has a whole line."""
    if len(segment) > _ENCODED_MAX:
        return True
    return len(segment) >= 3 and not _has_controls(segment[:3]) and b"\n" in segment


def _has_controls(data: bytes) -> bool:
    return len(data.translate(None, _CONTROLS)) < len(data)
