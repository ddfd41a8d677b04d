# SPDX-License-Identifier: Apache-2.0
"""What the timing model says of a Linux program: totals of its threads and of its regions.

Written as lines of JSON by firmware/virtual/user_results.c.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from maxconsole.errors import BoardError
from maxconsole.virtual.linux_program import Program
from maxconsole.virtual.plugin import ModelReport

LINE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Progress:
    """Instructions of all threads so far, and the cycles of the one that is furthest."""

    instructions: int
    cycles: int


@dataclass(frozen=True, slots=True)
class Counts:
    """`events` is by PMU event number. `waiting` are cycles at barriers and without work, contained in `cycles`."""

    calls: int
    cycles: int
    waiting: int
    dram_read_bytes: int
    dram_written_bytes: int
    undecoded: int
    events: Mapping[int, int]

    @property
    def instructions(self) -> int:
        return self.events[0x08]

    @property
    def ipc(self) -> float:
        """Instructions per cycle of work."""
        return self.instructions / max(1, self.cycles - self.waiting)

    def __add__(self, other: Counts) -> Counts:
        """Of two threads: cycles are added as well, so that they are core cycles."""
        events = {number: count + other.events[number] for number, count in self.events.items()}
        return Counts(
            self.calls + other.calls,
            self.cycles + other.cycles,
            self.waiting + other.waiting,
            self.dram_read_bytes + other.dram_read_bytes,
            self.dram_written_bytes + other.dram_written_bytes,
            self.undecoded + other.undecoded,
            events,
        )


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread on its core."""

    number: int
    core: int
    counts: Counts


@dataclass(frozen=True, slots=True)
class Region:
    """A marked function in one thread. `each` has the cycles of the first calls."""

    name: str
    thread: int
    counts: Counts
    each: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """`cycles` is the time of the thread that was furthest at the end. Threads are in the order in which they ended."""

    cycles: int
    threads: tuple[Thread, ...]
    regions: tuple[Region, ...]
    unmodeled_threads: int
    model: ModelReport

    @property
    def total(self) -> Counts:
        """Of all threads."""
        return reduce(add, (thread.counts for thread in self.threads))

    def region(self, name: str, thread: int | None = None) -> Counts:
        """Of all threads, or of one. Raises BoardError where it was never called."""
        found = [part.counts for part in self.regions if part.name == name and thread in (None, part.thread)]
        if not found:
            raise BoardError(f"{name} was never called")
        return reduce(add, found)


def read_progress(path: Path) -> Progress | None:
    """The latest, or None where there is none yet."""
    for line in reversed(_lines(path)):
        if line["kind"] == "progress":
            return Progress(line["instructions"], line["cycles"])
    return None


def read_results(path: Path, program: Program, model: ModelReport) -> Results:
    """Raises BoardError where the plug-in did not write them to the end."""
    lines = _lines(path)
    if not lines or lines[-1]["kind"] != "end":
        raise BoardError(f"the timing plug-in wrote no results for {program.path.name}")
    return Results(
        cycles=lines[-1]["cycles"],
        threads=tuple(Thread(line["thread"], line["core"], _counts(line)) for line in _of(lines, "thread")),
        regions=tuple(
            Region(program.name_at(line["address"]), line["thread"], _counts(line), tuple(line["each"]))
            for line in _of(lines, "region")
        ),
        unmodeled_threads=lines[-1]["unmodeled"],
        model=model,
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    """All complete lines."""
    try:
        text = path.read_text("ascii")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _of(lines: Iterable[dict[str, Any]], kind: str) -> Iterable[dict[str, Any]]:
    return (line for line in lines if line["kind"] == kind)


def _counts(line: dict[str, Any]) -> Counts:
    return Counts(
        calls=line["calls"],
        cycles=line["cycles"],
        waiting=line["waiting"],
        dram_read_bytes=line["dram_reads"] * LINE_BYTES,
        dram_written_bytes=line["dram_writes"] * LINE_BYTES,
        undecoded=line["undecoded"],
        events={int(number, 16): count for number, count in line["events"].items()},
    )
