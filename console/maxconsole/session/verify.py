# SPDX-License-Identifier: Apache-2.0
"""Asks the board for checksums of what was flashed: what counts is what its cores read, not what a probe wrote."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from maxconsole.errors import BoardError
from maxconsole.firmware.elf import FirmwareElf, read_elf
from maxconsole.link.client import Link
from maxconsole.schema import wire
from maxconsole.session.progress import Progress, silent
from maxconsole.session.setup import Prepared

#: One CHECKSUM command covers at most this much, so that progress shows and no answer takes long.
_PIECE_BYTES = 4 << 20
_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class VerifiedRegion:
    """A part of board memory whose content the board itself has confirmed."""

    name: str
    address: int
    size_bytes: int
    crc32: int


def verify(link: Link, prepared: Prepared, progress: Progress = silent) -> tuple[VerifiedRegion, ...]:
    """Compares code, constants and weights with the board's memory as its core 0 sees it.

    Writable data is left out: it has changed since the start. Raises BoardError that names what differs.
    """
    regions = list(_regions(read_elf(prepared.firmware.elf), prepared))
    total = sum(len(data) for _, _, data in regions)
    done = 0
    verified = []
    for name, address, data in regions:
        for start in range(0, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            _compare(link, name, address + start, piece)
            done += len(piece)
            progress("verify", done, total)
        verified.append(VerifiedRegion(name, address, len(data), zlib.crc32(data)))
    return tuple(verified)


def _regions(elf: FirmwareElf, prepared: Prepared) -> Iterator[tuple[str, int, memoryview]]:
    for segment in elf.segments:
        if segment.data and not segment.writable:
            yield "code" if segment.executable else "constants", segment.address, memoryview(segment.data)
    yield "weights", prepared.plan.weight.base, prepared.image.data


def _compare(link: Link, name: str, address: int, data: memoryview) -> None:
    reply = link.request(wire.Checksum(address=address, bytes=len(data)), timeout=_TIMEOUT)
    if reply.value != zlib.crc32(data):
        raise BoardError(
            f"the board reads other {name} than were flashed, in {address:#x}..{address + len(data):#x}",
            hint="flash again; if it happens again, the memory or the probe is not reliable",
        )
