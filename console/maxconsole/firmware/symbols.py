# SPDX-License-Identifier: Apache-2.0
"""From a program counter to function, file and line."""

from __future__ import annotations

import posixpath
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from maxconsole.firmware.elf import Symbol, damage_reported, read_elf
from maxconsole.firmware.lines import CallSites, LineTable, ranges, read_call_sites, read_line_table


@dataclass(frozen=True, slots=True)
class Location:
    """Where an address lies. `file` is relative to the folder above the firmware; "" and 0 where nothing is known.

    `function` is the symbol that holds the address. File and line are those of the innermost line in the firmware's own
    sources: for an intrinsic of the compiler's headers, the line that uses it.
    """

    address: int
    function: str
    offset: int
    file: str
    line: int

    def __str__(self) -> str:
        name = f"{self.function}+{self.offset:#x}" if self.function else f"{self.address:#x}"
        return f"{name} ({self.file}:{self.line})" if self.file else name


@dataclass(frozen=True, slots=True)
class Function:
    """A function's code in the image."""

    name: str
    address: int
    size_bytes: int


class Symbolizer:
    """Symbols and lines of one image. Debug information of a unit is decoded when an address in it is first asked for.

    Not for use by several threads at once. Raises UserError for a file that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        elf = read_elf(path)
        self._path = path
        self._text = [(part.address, part.range.end) for part in elf.sections if part.executable]
        # Of several names for one address the last wins: a function's own before a label's.
        self._symbols = sorted(
            (symbol for symbol in elf.symbols.values() if self._is_code(symbol)),
            key=lambda symbol: (symbol.address, bool(symbol.function), symbol.size_bytes),
        )
        self._symbol_starts = array("Q", (symbol.address for symbol in self._symbols))
        with damage_reported(path):
            self._dwarf: Any = ELFFile(BytesIO(path.read_bytes())).get_dwarf_info()
            self._units = sorted(self._ranges_of_units())
        self._unit_starts = array("Q", (start for start, _, _ in self._units))
        self._tables: dict[int, LineTable | None] = {}
        self._call_sites: dict[int, CallSites] = {}
        self._known: dict[int, Location] = {}

    def symbolize(self, address: int) -> Location:
        """Function, file and line of the instruction at `address`."""
        known = self._known.get(address)
        if known is None:
            function, offset = self._function(address)
            with damage_reported(self._path):
                file, line = self._line(address)
            known = self._known[address] = Location(address, function, offset, file, line)
        return known

    def functions(self) -> tuple[Function, ...]:
        """All functions, by address. One whose size assembly left out reaches to the next."""
        found = [symbol for symbol in self._symbols if symbol.function]
        ends = [symbol.address for symbol in found[1:]] + [max((end for _, end in self._text), default=0)]
        return tuple(
            Function(symbol.name, symbol.address, symbol.size_bytes or end - symbol.address)
            for symbol, end in zip(found, ends, strict=True)
        )

    def source_of(self, address: int) -> str:
        """The file that was compiled to the code at `address`, named as in Location; "" where nothing is known."""
        index = bisect_right(self._unit_starts, address) - 1
        if index < 0 or address >= self._units[index][1]:
            return ""
        with damage_reported(self._path):
            top = self._dwarf.get_CU_at(self._units[index][2]).get_top_DIE()
            return str(top.attributes["DW_AT_name"].value.decode("utf-8", "replace"))

    def _in_text(self, address: int) -> bool:
        return any(start <= address < end for start, end in self._text)

    def _is_code(self, symbol: Symbol) -> bool:
        places = symbol.name.startswith("__text_")  # the linker script's marks, which share addresses with functions
        return symbol.defined and symbol.function is not False and self._in_text(symbol.address) and not places

    def _function(self, address: int) -> tuple[str, int]:
        index = bisect_right(self._symbol_starts, address) - 1
        if index < 0 or not self._in_text(address):
            return "", 0
        symbol = self._symbols[index]
        offset = address - symbol.address
        # Assembly may leave the size out: such a symbol reaches to the next one.
        return (symbol.name, offset) if not symbol.size_bytes or offset < symbol.size_bytes else ("", 0)

    def _line(self, address: int) -> tuple[str, int]:
        index = bisect_right(self._unit_starts, address) - 1
        if index < 0 or address >= self._units[index][1]:
            return "", 0
        unit = self._units[index][2]
        if unit not in self._tables:
            self._tables[unit] = read_line_table(self._dwarf, self._dwarf.get_CU_at(unit), self._in_text)
        table = self._tables[unit]
        if table is None:
            return "", 0
        file, line = table.find(address)
        if not line:
            return "", 0
        if not posixpath.isabs(table.names[file]):
            return table.names[file], line
        if unit not in self._call_sites:
            self._call_sites[unit] = read_call_sites(self._dwarf, self._dwarf.get_CU_at(unit), table.names)
        return self._call_sites[unit].find(address) or (table.names[file], line)

    def _ranges_of_units(self) -> Iterator[tuple[int, int, int]]:
        """(start, end, offset of the unit) for all code that was not dropped by the linker."""
        lists = self._dwarf.range_lists()
        for unit in self._dwarf.iter_CUs():
            top = unit.get_top_DIE()
            base = top.attributes["DW_AT_low_pc"].value if "DW_AT_low_pc" in top.attributes else 0
            for start, end in ranges(top, unit, lists, base):
                if start < end and self._in_text(start):
                    yield start, end, unit.cu_offset
