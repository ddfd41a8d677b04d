# SPDX-License-Identifier: Apache-2.0
"""Physical address ranges and what can be done with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

KIB = 1 << 10
MIB = 1 << 20
PAGE_BYTES = 4 * KIB
BLOCK_BYTES = 2 * MIB
"""What one level-2 block of the AArch64 translation tables maps (4 KiB granule)."""


@dataclass(frozen=True, slots=True, order=True)
class MemoryRange:
    """`size_bytes` of physical memory from `base` on."""

    base: int
    size_bytes: int
    name: str = ""

    @property
    def end(self) -> int:
        """First address after the range."""
        return self.base + self.size_bytes

    def overlaps(self, other: MemoryRange) -> bool:
        return self.base < other.end and other.base < self.end

    def contains(self, other: MemoryRange) -> bool:
        return self.base <= other.base and other.end <= self.end

    def __str__(self) -> str:
        label = f"{self.name} " if self.name else ""
        return f"{label}{self.base:#x}..{self.end:#x}"


def align_up(value: int, alignment: int) -> int:
    """The smallest multiple of `alignment` that is at least `value`."""
    return -(-value // alignment) * alignment


def align_down(value: int, alignment: int) -> int:
    """The largest multiple of `alignment` that is at most `value`."""
    return value // alignment * alignment


def subtract(ranges: Iterable[MemoryRange], holes: Iterable[MemoryRange]) -> tuple[MemoryRange, ...]:
    """What of `ranges` lies in none of `holes`, ascending."""
    free = sorted(ranges)
    for hole in holes:
        rest: list[MemoryRange] = []
        for part in free:
            if not part.overlaps(hole):
                rest.append(part)
                continue
            if part.base < hole.base:
                rest.append(MemoryRange(part.base, hole.base - part.base, part.name))
            if hole.end < part.end:
                rest.append(MemoryRange(hole.end, part.end - hole.end, part.name))
        free = rest
    return tuple(sorted(free))


def aligned(ranges: Iterable[MemoryRange], alignment: int) -> tuple[MemoryRange, ...]:
    """The largest part of each range whose two ends are multiples of `alignment`; empty ones are dropped."""
    shrunk = ((align_up(part.base, alignment), align_down(part.end, alignment), part.name) for part in ranges)
    return tuple(MemoryRange(start, end - start, name) for start, end, name in shrunk if start < end)


def first_overlap(ranges: Iterable[MemoryRange]) -> tuple[MemoryRange, MemoryRange] | None:
    """Two ranges that share an address, or None."""
    ordered = sorted(ranges)
    widest: MemoryRange | None = None
    for part in ordered:
        if widest is not None and part.overlaps(widest):
            return widest, part
        if widest is None or part.end > widest.end:
            widest = part
    return None


def show_bytes(count: int) -> str:
    """A size for people: `96.0 MiB`, `12.5 KiB`, `70 bytes`."""
    if abs(count) >= MIB:
        return f"{count / MIB:.1f} MiB"
    if abs(count) >= KIB:
        return f"{count / KIB:.1f} KiB"
    return f"{count} bytes"
