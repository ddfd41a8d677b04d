# SPDX-License-Identifier: Apache-2.0
"""What the timing plug-in is told, and what it reports. (Its own side: firmware/virtual/options.c and report.c.)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maxconsole.boards import Board, MemoryRange
from maxconsole.boards.profile import NPU_FORMATS, Cache
from maxconsole.boards.ranges import BLOCK_BYTES
from maxconsole.errors import BoardError, UserError
from maxconsole.virtual.races import Finding, parse_finding

Mode = Literal["fast", "timed"]
"""The timing model: port bounds and caches, or the out-of-order pipeline with the timed hierarchy."""

CORES_MAX = 4
_OUTSTANDING_MISSES = 20  # lines in flight where the profile names no number: assumed
_OUTSTANDING_L2_MISSES = 46  # the same for L2: that of a Cortex-A76 (WikiChip)
_EVENTS = 6


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What the model could not follow. All of it is zero or empty for code that it knows completely."""

    model_version: int
    qemu_api: int
    undecoded_sites: int
    undecoded_executed: int
    unresolved_prefetch_sites: int
    addresses_verified: int
    addresses_mismatched: int
    log_entries_dropped: int  # traffic below L2 that was not delayed by the other cores
    early_departures: int = 0  # of cores from a barrier that was not complete
    unknown_events: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()  # of check_races
    undecoded: tuple[str, ...] = ()  # "0x........ at 0x...": opcode and address, the first ones


def plugin_arguments(
    board: Board,
    *,
    ram_path: str,
    report: Path,
    parent: int,
    uncached: Sequence[MemoryRange] = (),
    transient: Sequence[MemoryRange] = (),
    mode: Mode = "fast",
    verify: bool = False,
    check_races: bool = False,
    hot_spots: tuple[MemoryRange, Path] | None = None,
    npu_hangs: int = 0,
) -> dict[str, str | list[str]]:
    """The plug-in's arguments for `board`. A value that is a list stands for several arguments of that name.

    `uncached`, `transient`: memory that the firmware maps so; of the latter one range at most. `hot_spots`: code whose
    instructions are counted one by one, and the file for that. `npu_hangs`: the number of a job of the NPU that never
    ends.

    Raises ProfileError for facts that the profile leaves unknown, UserError for boards that cannot be modeled.
    """
    virtual = board.virtual
    if virtual is None:
        raise UserError(f"{board.name} is not a virtual board")
    arguments: dict[str, str | list[str]] = {
        "ram": ram_path,
        "ram_base": hex(virtual.ram_base),
        "ram_bytes": hex(virtual.ram_bytes),
        "device_page": hex(virtual.device_page),
        **model_arguments(board),
        "events": ":".join(hex(event.number) for event in board.pmu.events[:_EVENTS]),
        "uncached": _ranges(uncached),
        "transient": _ranges(transient),
        "report": str(report),
        "parent": str(parent),
        "mode": mode,
        "verify": "on" if verify else "off",
        "check": "on" if check_races else "off",
    }
    if hot_spots is not None:
        region, file = hot_spots
        arguments |= {"hot": f"{hex(region.base)}:{hex(region.end)}", "hot_file": str(file)}
    if board.npu is not None:
        arguments |= {"npu": _npu(board), "npu_hangs": str(npu_hangs)}
    return arguments


def _ranges(parts: Sequence[MemoryRange]) -> list[str]:
    return [f"{hex(part.base)}:{hex(part.size_bytes)}" for part in parts]


def _npu(board: Board) -> str:
    """The NPU's memory and rates. Raises ProfileError for unknown facts."""
    npu, need = board.npu, board.need
    assert npu is not None
    name = need("npu.carve_out", npu.carve_out)
    memory = next(part for part in board.memory.carve_outs if part.name == name)
    startup = need("npu.startup_cycles", npu.startup_cycles)
    bandwidth = need("npu.bandwidth_bytes_per_s", npu.bandwidth_bytes_per_s)
    rates = {rate.formats: rate.macs_per_s for rate in npu.rates}
    four, eight = (need(f"npu.rates ({formats})", rates.get(formats)) for formats in NPU_FORMATS)
    return _list((memory.base, memory.size_bytes, startup, bandwidth, four, eight))


def model_arguments(board: Board, page_bytes: int = BLOCK_BYTES) -> dict[str, str]:
    """What the model has to know of the board's cores, caches and memory, and of the guest's pages.

    Raises ProfileError for unknown facts.
    """
    hz = board.need("cpu.clock_hz", board.cpu.clock_hz)
    read = board.need("dram.effective_bytes_per_s", board.dram.effective_bytes_per_s)
    latency_ns = board.need("dram.latency_ns", board.dram.latency_ns)
    caches, tlb = board.caches, board.tlb
    tlb_numbers = (tlb.l1d_entries, tlb.l2_entries, tlb.l2_ways, tlb.l2_latency_cycles, tlb.walk_cycles)
    arguments = {
        "clock_hz": str(hz),
        "l1d": _geometry(caches.l1d),
        "l2": _geometry(caches.l2),
        "dram_read": _list((read, *board.dram.shared_bytes_per_s)),
        "dram_write": _list(board.dram.write_bytes_per_s or (read, *board.dram.shared_bytes_per_s)),
        "dram_latency_cycles": str(round(latency_ns * hz / 1e9)),
        "outstanding_misses": str(caches.l1d.outstanding_misses or _OUTSTANDING_MISSES),
        "outstanding_l2_misses": str(caches.l2.outstanding_misses or _OUTSTANDING_L2_MISSES),
        "tlb": _list(tlb_numbers),
        "page_bytes": str(page_bytes),
    }
    if caches.l3 is not None:
        arguments["l3"] = _geometry(caches.l3)
    return arguments


def _list(numbers: Iterable[int]) -> str:
    return ":".join(map(str, numbers))


def _geometry(cache: Cache) -> str:
    return f"{cache.size_bytes}:{cache.ways}:{cache.latency_cycles}"


def plugin_option(library: Path, arguments: Mapping[str, str | list[str]]) -> str:
    """The value of QEMU's -plugin option; commas in values are doubled, as its option syntax wants."""
    parts = [str(library).replace(",", ",,")]
    for key, value in arguments.items():
        for one in [value] if isinstance(value, str) else value:
            parts.append(f"{key}={one.replace(',', ',,')}")
    return ",".join(parts)


def read_report(path: Path) -> ModelReport:
    """What the plug-in has written so far. Raises BoardError where it has written nothing sensible."""
    numbers: dict[str, int] = {}
    undecoded: list[str] = []
    unknown: list[int] = []
    findings: list[Finding] = []
    try:
        for line in path.read_text("ascii").splitlines():
            key, _, value = line.partition(" ")
            if key == "undecoded":
                undecoded.append(value)
            elif key in ("race", "stale", "npu"):
                findings.append(parse_finding(key, value))
            elif key == "unknown_event":
                unknown.append(int(value, 0))
            else:
                numbers[key] = int(value, 0)
        return ModelReport(
            model_version=numbers["model_version"],
            qemu_api=numbers["qemu_api"],
            undecoded_sites=numbers["undecoded_sites"],
            undecoded_executed=numbers["undecoded_executed"],
            unresolved_prefetch_sites=numbers["unresolved_prefetch_sites"],
            addresses_verified=numbers["addresses_verified"],
            addresses_mismatched=numbers["addresses_mismatched"],
            early_departures=numbers["early_departures"],
            log_entries_dropped=numbers["log_entries_dropped"],
            unknown_events=tuple(unknown),
            findings=tuple(findings),
            undecoded=tuple(undecoded),
        )
    except (OSError, ValueError, KeyError) as error:
        raise BoardError(f"the timing plug-in's report {path} cannot be read: {error}") from error
