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

from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from maxconsole.firmware.elf import Symbol, damage_reported, read_elf


@dataclass(frozen=True, slots=True)
class Location:
    """Where an address lies. `file` is relative to the folder above the firmware; "" and 0 where nothing is known."""

    address: int
    function: str
    offset: int
    file: str
    line: int

    def __str__(self) -> str:
        name = f"{self.function}+{self.offset:#x}" if self.function else f"{self.address:#x}"
        return f"{name} ({self.file}:{self.line})" if self.file else name


@dataclass(frozen=True, slots=True)
class _Lines:
    """Rows of one unit's line table, ascending by address; file 0 ends a sequence."""

    addresses: array[int]
    files: array[int]
    lines: array[int]
    names: tuple[str, ...]


class Symbolizer:
    """Symbols and line tables of one image. Line tables are read when an address in their unit is first asked for.

    Not for use by several threads at once. Raises UserError for a file that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        elf = read_elf(path)
        text = [(part.address, part.range.end) for part in elf.sections if part.executable]
        code = [symbol for symbol in elf.symbols.values() if _is_code(symbol, text)]
        # Of several names for one address the last wins: a function's own before a label's.
        code.sort(key=lambda symbol: (symbol.address, bool(symbol.function), symbol.size_bytes))
        self._symbols = code
        self._starts = array("Q", (symbol.address for symbol in code))
        self._text = text
        self._path = path
        with damage_reported(path):
            self._dwarf: Any = ELFFile(BytesIO(path.read_bytes())).get_dwarf_info()
            self._units = sorted(self._ranges_of_units())
        self._unit_starts = array("Q", (start for start, _, _ in self._units))
        self._tables: dict[int, _Lines | None] = {}
        self._known: dict[int, Location] = {}

    def symbolize(self, address: int) -> Location:
        """Function, file and line of the instruction at `address`."""
        known = self._known.get(address)
        if known is None:
            function, offset = self._function(address)
            file, line = self._line(address)
            known = self._known[address] = Location(address, function, offset, file, line)
        return known

    def _function(self, address: int) -> tuple[str, int]:
        if not any(start <= address < end for start, end in self._text):
            return "", 0
        index = bisect_right(self._starts, address) - 1
        if index < 0:
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
            with damage_reported(self._path):
                self._tables[unit] = self._read_lines(unit)
        table = self._tables[unit]
        row = bisect_right(table.addresses, address) - 1 if table else -1
        if table is None or row < 0 or not table.lines[row]:
            return "", 0
        return table.names[table.files[row]], table.lines[row]

    def _ranges_of_units(self) -> Iterator[tuple[int, int, int]]:
        """(start, end, offset of the unit) for all code that was not dropped by the linker."""
        lists = self._dwarf.range_lists()
        for unit in self._dwarf.iter_CUs():
            top = unit.get_top_DIE()
            for start, end in _ranges(top, unit, lists):
                if any(low <= start < high for low, high in self._text) and start < end:
                    yield start, end, unit.cu_offset

    def _read_lines(self, offset: int) -> _Lines | None:
        unit = self._dwarf.get_CU_at(offset)
        program = self._dwarf.line_program_for_CU(unit)
        if program is None:
            return None
        names = _file_names(program)
        rows: list[tuple[int, int, int, int]] = []
        sequence: list[tuple[int, int, int, int]] = []
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if not state.end_sequence:
                sequence.append((state.address, len(sequence), state.file, state.line or 0))
                continue
            if sequence and any(low <= sequence[0][0] < high for low, high in self._text):
                rows += sequence
                rows.append((state.address, -1, 0, 0))
            sequence = []
        rows.sort()  # an end (-1) before the start that shares its address, and later rows of one address last
        columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
        return _Lines(array("Q", columns[0]), array("I", columns[2]), array("I", columns[3]), names)


def _is_code(symbol: Symbol, text: list[tuple[int, int]]) -> bool:
    inside = any(start <= symbol.address < end for start, end in text)
    return symbol.defined and symbol.function is not False and inside and not symbol.name.startswith("__text_")


def _ranges(top: Any, unit: Any, lists: Any) -> Iterator[tuple[int, int]]:
    attributes = top.attributes
    base = attributes["DW_AT_low_pc"].value if "DW_AT_low_pc" in attributes else 0
    if "DW_AT_ranges" in attributes:
        listed = lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit)
        for entry in listed:
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            else:
                shift = 0 if getattr(entry, "is_absolute", False) else base
                yield entry.begin_offset + shift, entry.end_offset + shift
    elif "DW_AT_high_pc" in attributes:
        high = attributes["DW_AT_high_pc"]
        yield base, high.value if high.form == "DW_FORM_addr" else base + high.value


def _file_names(program: Any) -> tuple[str, ...]:
    """Names by the number that the rows use, relative where the compiler was told relative ones."""
    header = program.header
    folders = [_text(folder) for folder in header["include_directory"]]
    first = 0 if header["version"] >= 5 else 1
    names = [] if first == 0 else [""]
    for entry in header["file_entry"]:
        index = entry.dir_index
        folder = folders[index - first] if 0 <= index - first < len(folders) else ""
        names.append(posixpath.normpath(posixpath.join(folder, _text(entry.name))))
    return tuple(names)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
