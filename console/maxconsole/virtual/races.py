# SPDX-License-Identifier: Apache-2.0
"""What the plug-in's checks have found, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maxconsole.firmware.elf import read_elf
from maxconsole.firmware.symbols import Symbolizer

_POOLS = ("weight_pool", "activation_pool", "kv_cache_pool")


@dataclass(frozen=True, slots=True)
class Finding:
    """Memory that two cores touched without a barrier between them, or that one read too early.

    `kind` is "read" or "write", of what the second instruction does, or "stale": then there is no writer. Those of
    NPU_KINDS are about a job of the NPU, whose number `writer` is (0 where it does not matter). Of all addresses that
    the same two instructions met at, the lowest is kept, and `count` says how often they did.
    """

    kind: str
    address: int
    writer: int  # program counters
    other: int
    count: int


NPU_KINDS = {
    "dirty-input": "is read by job {job} of the NPU, but was not cleaned after {other} wrote it",
    "dirty-result": "will be written by job {job} of the NPU, but is dirty in a cache: {other} wrote it",
    "input-written": "is written by {other} while job {job} of the NPU reads it",
    "result-written": "is written by {other} while job {job} of the NPU writes it, too",
    "early": "is read by {other} before it has waited for job {job} of the NPU, which writes it",
    "stale-result": "was written by the NPU, but is not invalidated in the cache of the core that uses it: {other}",
}
"""What is wrong about a job of the NPU, by kind of finding."""


def parse_finding(key: str, value: str) -> Finding:
    """A line of the plug-in's report. Raises ValueError."""
    kind, numbers = ("stale", value) if key == "stale" else value.split(" ", 1)
    address, writer, other, count = (int(number, 0) for number in numbers.split())
    return Finding(kind, address, writer, other, count)


def describe(findings: Sequence[Finding], elf: Path) -> tuple[str, ...]:
    """One sentence for each finding. Raises UserError for an ELF file that cannot be read."""
    if not findings:
        return ()
    code, image = Symbolizer(elf), read_elf(elf)
    data = sorted((one.address, one.size_bytes, name) for name, one in image.symbols.items() if one.size_bytes)
    pools = [
        (image.address_of(f"__{name}_start"), image.address_of(f"__{name}_end"), name)
        for name in _POOLS
        if f"__{name}_start" in image.symbols  # test programs have none
    ]

    def place(address: int) -> str:
        for start, size, name in data:
            if start <= address < start + size:
                return f"{name}+{address - start:#x}"
        for start, end, name in pools:
            if start <= address < end:
                return f"{name}+{address - start:#x}"
        return f"{address:#x}"

    def words(one: Finding) -> str:
        other = code.symbolize(one.other)
        if one.kind == "stale":
            return f"{place(one.address)} is read with the MMU off, but not cleaned to memory: {other}"
        if one.kind in NPU_KINDS:
            return f"{place(one.address)} " + NPU_KINDS[one.kind].format(job=one.writer, other=other)
        does = "writes it, too" if one.kind == "write" else "reads it"
        return f"{place(one.address)} is written by {code.symbolize(one.writer)}, and without a barrier {other} {does}"

    return tuple(words(one) for one in findings)
