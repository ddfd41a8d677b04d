# SPDX-License-Identifier: Apache-2.0
"""Rules of a board profile that involve more than one value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import cast

from maxconsole.boards.profile import Board, Cache, Dram, PmuEvent
from maxconsole.boards.ranges import BLOCK_BYTES, PAGE_BYTES, MemoryRange, first_overlap
from maxconsole.boards.tables import Place
from maxconsole.schema.wire import CORES_MAX, COUNTERS, FRAME_MAX_BYTES

_ADDRESS_LIMIT = 1 << 40  # what a Cortex-A76 puts on its bus


def check_board(board: Board) -> None:
    """Raises ProfileError at the first rule that `board` breaks."""
    place = Place(board.file)
    if board.file.stem != board.name:
        raise (place / "name").error(f"it must be the file's name, {board.file.stem!r}", board.name)
    _check_cores(board, place)
    _check_caches(board, place / "caches")
    _check_memory(board, place / "memory")
    _check_registers(board, place)
    _check_virtual(board, place / "virtual")
    _check_events(board.pmu.events, place / "pmu" / "events")
    _check_dram(board.dram, place / "dram")
    for name in ("rtt_up_bytes", "rtt_down_bytes"):
        size = cast("int", getattr(board.link, name))
        if size < 4 * FRAME_MAX_BYTES or size % 64:
            rule = f"it must be a multiple of 64 (a cache line) and hold 4 frames of {FRAME_MAX_BYTES} bytes"
            raise (place / "link" / name).error(rule, size)
    _check_provenance(board, place)


def _check_cores(board: Board, place: Place) -> None:
    if board.cpu.cores > CORES_MAX:
        raise (place / "cpu" / "cores").error(f"the firmware drives at most {CORES_MAX}", board.cpu.cores)
    ids = board.boot.core_ids
    if ids is not None and (len(ids) != board.cpu.cores or len(set(ids)) != len(ids)):
        key = place / "boot" / "core_ids"
        raise key.error(f"it must hold {board.cpu.cores} different numbers, one for each core", list(ids))


def _check_caches(board: Board, place: Place) -> None:
    for name in ("l1i", "l1d", "l2", "l3"):
        cache = cast("Cache | None", getattr(board.caches, name))
        if cache is None:
            continue
        way_bytes = cache.ways * cache.line_bytes
        if cache.size_bytes % way_bytes or cache.sets & (cache.sets - 1):
            rule = f"it must be {way_bytes} (ways times line_bytes) times a power of two"
            raise (place / name / "size_bytes").error(rule, cache.size_bytes)


def _check_dram(dram: Dram, place: Place) -> None:
    one = () if dram.effective_bytes_per_s is None else (dram.effective_bytes_per_s,)
    rates = {"effective_bytes_per_s": one, "shared_bytes_per_s": dram.shared_bytes_per_s}
    rates["write_bytes_per_s"] = dram.write_bytes_per_s
    for name, values in rates.items():
        for value in values:
            if value > dram.peak_bytes_per_s:
                raise (place / name).error("it must not be above peak_bytes_per_s", value)


def _check_memory(board: Board, place: Place) -> None:
    memory = board.memory
    if not memory.ram:
        raise (place / "ram").error("it must list at least one range", [])
    for name, ranges in (("ram", memory.ram), ("reserved", memory.reserved), ("carve_outs", memory.carve_outs)):
        for index, part in enumerate(ranges):
            key = (place / name)[index]
            if part.base < 0 or part.size_bytes <= 0 or part.base % PAGE_BYTES or part.size_bytes % PAGE_BYTES:
                rule = f"base and size_bytes must be multiples of {PAGE_BYTES} (a page), and the size positive"
                raise key.error(rule, {"base": part.base, "size_bytes": part.size_bytes})
            if part.end > _ADDRESS_LIMIT:
                raise key.error("it must end below 2^40", {"base": part.base, "size_bytes": part.size_bytes})
            if name != "ram" and not part.name:
                raise (key / "name").error("it is missing")
            if name != "ram" and not any(ram.contains(part) for ram in memory.ram):
                raise key.error("it must lie inside one range of memory.ram", str(part))
    _refuse_overlap(memory.ram, place / "ram")
    _refuse_overlap((*memory.reserved, *memory.carve_outs), place / "carve_outs")
    if memory.image_bytes % BLOCK_BYTES:
        raise (place / "image_bytes").error(f"it must be a multiple of {BLOCK_BYTES} (a block)", memory.image_bytes)


def _refuse_overlap(ranges: tuple[MemoryRange, ...], place: Place) -> None:
    overlap = first_overlap(ranges)
    if overlap is not None:
        raise place.error(f"{overlap[0]} and {overlap[1]} overlap")


def device_regions(board: Board) -> tuple[MemoryRange, ...]:
    """Register blocks to map as Device memory, whole pages, ascending. Unknown addresses are left out."""
    blocks = [
        ("uart.base", board.uart.base, PAGE_BYTES),
        ("gic.distributor", board.gic.distributor, board.gic.distributor_bytes),
        ("gic.cpu_interface", board.gic.cpu_interface, board.gic.cpu_interface_bytes),
        ("npu.base", board.npu.base if board.npu else None, PAGE_BYTES),
        ("virtual.device_page", board.virtual.device_page if board.virtual else None, PAGE_BYTES),
    ]
    return tuple(sorted(MemoryRange(base, size, name) for name, base, size in blocks if base is not None))


def _check_registers(board: Board, place: Place) -> None:
    regions = device_regions(board)
    for region in regions:
        if region.base % PAGE_BYTES:
            raise (place / region.name).error(f"it must be a multiple of {PAGE_BYTES} (a page)", region.base)
    _refuse_overlap(regions, place / "gic")
    for region in regions:
        if region.name != "virtual.device_page" and any(region.overlaps(ram) for ram in board.memory.ram):
            raise (place / region.name).error("registers must not lie in memory.ram", region.base)
    carve_out = board.npu.carve_out if board.npu else None
    if carve_out is not None and carve_out not in {part.name for part in board.memory.carve_outs}:
        raise (place / "npu" / "carve_out").error("memory.carve_outs has no range of this name", carve_out)


def _check_virtual(board: Board, place: Place) -> None:
    virtual = board.virtual
    if virtual is None:
        return
    window = MemoryRange(virtual.ram_base, virtual.ram_bytes, "the emulated machine's RAM")
    for ram in board.memory.ram:
        if not window.contains(ram):
            raise (place / "ram_bytes").error(f"{window} must cover memory.ram {ram}")
    page = MemoryRange(virtual.device_page, PAGE_BYTES)
    if not window.contains(page):
        raise (place / "device_page").error("it must lie in the emulated machine's RAM", virtual.device_page)
    in_ram = any(page.overlaps(ram) for ram in board.memory.ram)
    if in_ram and not any(part.contains(page) for part in board.memory.reserved):
        raise (place / "device_page").error("it must lie in a reserved range", virtual.device_page)


def _check_events(events: tuple[PmuEvent, ...], place: Place) -> None:
    if len(events) != COUNTERS:
        raise place.error(f"it must list {COUNTERS} events, one for each counter", [event.name for event in events])
    if len({event.number for event in events}) != COUNTERS:
        raise place.error("each event may be listed once", [event.name for event in events])


def leaves(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Dotted key and value of everything below a profile table that is not itself a table."""
    if is_dataclass(value):
        for item in fields(value):
            if item.name not in ("file", "provenance"):
                yield from leaves(getattr(value, item.name), f"{key}.{item.name}" if key else item.name)
    else:
        yield key, value


def _check_provenance(board: Board, place: Place) -> None:
    """A missing fact must be marked unknown, and only a missing fact may be."""
    known = dict(leaves(board))
    for key, value in known.items():
        optional_table = "." not in key or key == "caches.l3"
        if value is None and not optional_table and board.origin(key).status != "unknown":
            hint = f'if it is not known, say so: [provenance] "{key}" = {{ status = "unknown", source = "..." }}'
            raise (place / key).error("it is missing", hint=hint)
    for key, entry in board.provenance.items():
        below = [value for name, value in known.items() if name == key or name.startswith(f"{key}.")]
        if not below:
            raise (place / "provenance" / key).error("the profile has no such key")
        if entry.status == "unknown" and key in known and known[key] is not None:
            raise (place / "provenance" / key).error("it is marked unknown but has a value", known[key])
