# SPDX-License-Identifier: Apache-2.0
"""What an image must not contain, however well it compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from maxconsole.boards import Board, Plan
from maxconsole.boards.ranges import BLOCK_BYTES
from maxconsole.errors import UserError
from maxconsole.firmware.elf import POOL_SECTIONS, RTT_SYMBOL, FirmwareElf

_HEAP = re.compile(
    r"_*(m|c|re|v|pv)alloc(_r|array)?|_*free(_r)?|_*(aligned_alloc|memalign|posix_memalign)(_r)?|_*s?brk(_r)?"
    r"|_*str(n?)dup(_r)?|_Z(nw|na|dl|da)\w*"  # the last: C++ operators new and delete
)


class ImageRefusedError(UserError):
    """The image breaks a rule of `check_image`; `reasons` lists every one that it breaks."""

    def __init__(self, path: Path, reasons: tuple[str, ...]) -> None:
        self.reasons = reasons
        super().__init__("\n  ".join((f"{path.name} is refused:", *reasons)))


def check_image(elf: FirmwareElf, board: Board, plan: Plan) -> None:
    """Raises ImageRefusedError if `elf` must not be loaded into `board`.

    Refused are: heap functions; pools that are not aligned or not where `plan` puts them; sections that overlap, that
    lie outside the RAM, in a reserved range or in a carve-out; memory both writable and executable; an RTT control
    block outside the non-cacheable region.
    """
    reasons = (
        *_heap(elf),
        *_pools(elf, plan),
        *_overlaps(elf),
        *_places(elf, board),
        *_permissions(elf),
        *_rtt(elf),
    )
    if reasons:
        raise ImageRefusedError(elf.path, reasons)


def _heap(elf: FirmwareElf) -> Iterator[str]:
    for symbol in elf.symbols.values():
        if symbol.function is not False and _HEAP.fullmatch(symbol.name):
            yield f"it contains the heap function {symbol.name}: all memory comes from the pools"


def _pools(elf: FirmwareElf, plan: Plan) -> Iterator[str]:
    for pool in plan.pools:
        place = elf.pools.get(pool.name)
        if place is None:
            yield f"it has no pool {pool.name} (section {POOL_SECTIONS[pool.name]})"
            continue
        if place.base % BLOCK_BYTES or place.size_bytes % BLOCK_BYTES:
            yield f"pool {place} does not start and end at multiples of {BLOCK_BYTES:#x}"
        if (place.base, place.size_bytes) != (pool.base, pool.size_bytes):
            yield f"pool {place} is not where the plan puts it, {pool.range}"


def _overlaps(elf: FirmwareElf) -> Iterator[str]:
    for first, second in pairwise(elf.sections):
        if first.range.overlaps(second.range):
            yield f"{first.range} and {second.range} overlap"


def _places(elf: FirmwareElf, board: Board) -> Iterator[str]:
    for section in elf.sections:
        if not any(ram.contains(section.range) for ram in board.memory.ram):
            yield f"{section.range} is outside the RAM of {board.name}"
        for hole in (*board.memory.reserved, *board.memory.carve_outs):
            if section.range.overlaps(hole):
                yield f"{section.range} overlaps {hole}, which is not the firmware's"


def _permissions(elf: FirmwareElf) -> Iterator[str]:
    for segment in elf.segments:
        if segment.writable and segment.executable:
            yield f"the segment at {segment.address:#x} is both writable and executable"
    text = [section for section in elf.sections if section.executable]
    if not any(section.address <= elf.entry < section.range.end for section in text):
        yield f"its entry {elf.entry:#x} is not in executable memory"


def _rtt(elf: FirmwareElf) -> Iterator[str]:
    block = elf.symbols.get(RTT_SYMBOL)
    rtt = next((section for section in elf.sections if section.name == ".rtt"), None)
    if block is not None and (rtt is None or not rtt.address <= block.address < rtt.range.end):
        yield f"{RTT_SYMBOL} at {block.address:#x} is not in section .rtt, which a probe can read behind the caches"
