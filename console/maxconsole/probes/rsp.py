# SPDX-License-Identifier: Apache-2.0
"""Packets of GDB's remote serial protocol ("Debugging with GDB", appendix E): framing, escapes, run lengths."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

_ESCAPE = 0x7D
_ESCAPED = frozenset(b"}#$*")
_RUN = ord("*")
_RUN_BIAS = 29
_PACKET_MAX = 1 << 22  # more without an end is no packet
FRAME_BYTES = 4  # of a packet besides its payload
_HEX = frozenset(b"0123456789abcdefABCDEF")


class Signal(Enum):
    """What a stub sends besides packets."""

    ACK = auto()
    NAK = auto()
    CORRUPT = auto()  # a packet whose checksum is wrong: to be answered with NAK


@dataclass(frozen=True, slots=True)
class Packet:
    """A payload: escapes and run lengths are undone. `notification` packets are not acknowledged."""

    payload: bytes
    notification: bool = False


def escape(data: bytes) -> bytes:
    """Binary data as it may stand in a packet."""
    if not _ESCAPED.intersection(data):
        return data
    result = bytearray()
    for byte in data:
        if byte in _ESCAPED:
            result += bytes((_ESCAPE, byte ^ 0x20))
        else:
            result.append(byte)
    return bytes(result)


def encode(payload: bytes) -> bytes:
    """A whole packet around a payload that is escaped already where it has to be."""
    return b"$" + payload + b"#%02x" % (sum(payload) & 0xFF)


def expand(raw: bytes) -> bytes:
    """Undoes escapes and run lengths. Raises ValueError where there is nothing to escape or to repeat."""
    if _ESCAPE not in raw and _RUN not in raw:
        return raw
    result = bytearray()
    at = 0
    while at < len(raw):
        byte = raw[at]
        if byte in (_ESCAPE, _RUN):
            if at + 1 == len(raw):
                raise ValueError("a packet ends inside an escape")
            operand = raw[at + 1]
            at += 2
            if byte == _ESCAPE:
                result.append(operand ^ 0x20)
                continue
            if not result or operand <= _RUN_BIAS:
                raise ValueError("a run length has nothing to repeat")
            result += result[-1:] * (operand - _RUN_BIAS)
            continue
        result.append(byte)
        at += 1
    return bytes(result)


class PacketParser:
    """Cuts a byte stream into packets and signals; anything between them is skipped."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Packet | Signal]:
        """What is complete with `data`, in order."""
        self._pending += data
        found: list[Packet | Signal] = []
        at = 0
        while at < len(self._pending):
            first = self._pending[at]
            if first == ord("+"):
                found.append(Signal.ACK)
            elif first == ord("-"):
                found.append(Signal.NAK)
            elif first in b"$%":
                end = self._pending.find(b"#", at)
                if end < 0 and len(self._pending) - at <= _PACKET_MAX:
                    break
                if end < 0:
                    found.append(Signal.CORRUPT)
                    at = len(self._pending)
                    break
                if end + 2 >= len(self._pending):
                    break
                found.append(self._packet(at, end))
                at = end + 2
            at += 1
        del self._pending[:at]
        return found

    def _packet(self, start: int, end: int) -> Packet | Signal:
        raw = bytes(self._pending[start + 1 : end])
        digits = bytes(self._pending[end + 1 : end + 3])
        if not _HEX.issuperset(digits) or int(digits, 16) != sum(raw) & 0xFF:
            return Signal.CORRUPT
        try:
            return Packet(expand(raw), notification=self._pending[start] == ord("%"))
        except ValueError:
            return Signal.CORRUPT
