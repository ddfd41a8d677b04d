# SPDX-License-Identifier: Apache-2.0
"""Puts firmware and weights into guest RAM before the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from maxconsole.boards import MemoryRange
from maxconsole.errors import UserError
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.virtual.ram import GuestRam

Progress = Callable[[int, int], None]
"""Called with bytes copied and bytes in all."""

Image = tuple[int, bytes | memoryview]
"""Physical address and content."""

_COPY_BYTES = 8 << 20  # between two calls of Progress: a few milliseconds


def load(
    ram: GuestRam, firmware: FirmwareElf, images: Sequence[Image], board: str, progress: Progress | None = None
) -> None:
    """Copies the segments of `firmware`, and then `images`, into `ram`, which holds zeros.

    Raises UserError for what lies outside the RAM of `board`, DoesNotFit where the host lacks memory for it.
    """
    used = [section.range for section in firmware.sections]  # pools too, which no segment fills
    used += [MemoryRange(address, memoryview(data).nbytes) for address, data in images]
    for part in used:
        if not MemoryRange(ram.base, ram.size).contains(part):
            raise UserError(
                f"{firmware.path.name} is linked for {part.base:#x}..{part.end:#x}, not for {board}",
                hint="build it for this board",
            )
    ram.make_room(union(used))
    parts: list[Image] = [(segment.address, segment.data) for segment in firmware.segments]
    parts += images
    total = sum(memoryview(data).nbytes for _, data in parts)
    done = 0
    for address, data in parts:
        source = memoryview(data).cast("B")
        for at in range(0, source.nbytes, _COPY_BYTES):
            piece = source[at : at + _COPY_BYTES]
            ram.write(address + at, piece)
            done += piece.nbytes
            if progress:
                progress(done, total)


def union(ranges: Sequence[MemoryRange]) -> list[MemoryRange]:
    """Disjoint ranges that cover the same memory, ascending."""
    merged: list[MemoryRange] = []
    for part in sorted(ranges, key=lambda part: part.base):
        if merged and part.base <= merged[-1].end:
            last = merged.pop()
            merged.append(MemoryRange(last.base, max(last.end, part.end) - last.base))
        elif part.size_bytes:
            merged.append(part)
    return merged
