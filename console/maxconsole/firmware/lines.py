# SPDX-License-Identifier: Apache-2.0
"""Line tables and inlined calls of one compilation unit, decoded from DWARF 4 or 5.

pyelftools parses the headers; the line number program itself is run here, because it dominates (50,000 rows for this
firmware) and a tight loop is fifteen times faster than pyelftools' entry objects. Reference: DWARF 5, section 6.2.
"""

from __future__ import annotations

import posixpath
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from elftools.dwarf.ranges import BaseAddressEntry

_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE = 1, 2, 3, 4
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2

InText = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class LineTable:
    """Rows ascending by address. Line 0 is code without a line, and the gap behind a sequence."""

    addresses: array[int]
    files: array[int]
    lines: array[int]
    names: tuple[str, ...]

    def find(self, address: int) -> tuple[int, int]:
        """File number and line of the instruction at `address`; line 0 if there is none."""
        row = bisect_right(self.addresses, address) - 1
        return (self.files[row], self.lines[row]) if row >= 0 else (0, 0)


def read_line_table(dwarf: Any, unit: Any, in_text: InText) -> LineTable | None:
    """The unit's line table, without sequences that start outside the text; None if it has none."""
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return None
    stream = program.stream
    stream.seek(program.program_start_offset)
    code = stream.read(program.program_end_offset - program.program_start_offset)
    rows: list[tuple[int, int, int, int]] = []
    for sequence in _sequences(code, program.header):
        if in_text(sequence[0][0]):
            rows += sequence
    rows.sort()  # at one address: the end of one sequence, then the rows of the next in their order
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return LineTable(
        array("Q", columns[0]), array("I", columns[2]), array("I", columns[3]), _file_names(program.header)
    )


def _sequences(code: bytes, header: Any) -> Iterator[list[tuple[int, int, int, int]]]:  # noqa: PLR0912  # an opcode each
    """Runs a line number program: lists of (address, number within the sequence, file, line)."""
    line_base, line_range, opcode_base = header["line_base"], header["line_range"], header["opcode_base"]
    unit_bytes = header["minimum_instruction_length"]
    operands = header["standard_opcode_lengths"]
    position = address = 0
    file = line = 1
    rows: list[tuple[int, int, int, int]] = []
    while position < len(code):
        opcode = code[position]
        position += 1
        if opcode >= opcode_base:
            step, advance = divmod(opcode - opcode_base, line_range)
            address += step * unit_bytes
            line += line_base + advance
            rows.append((address, len(rows), file, line))
        elif opcode == 0:
            size, position = _uleb(code, position)
            extended, body = code[position], code[position + 1 : position + size]
            position += size
            if extended == _SET_ADDRESS:
                address = int.from_bytes(body, "little")
            elif extended == _END_SEQUENCE:
                if rows:
                    rows.append((address, -1, 0, 0))
                    yield rows
                rows, address, file, line = [], 0, 1, 1
        elif opcode == _COPY:
            rows.append((address, len(rows), file, line))
        elif opcode == _ADVANCE_PC:
            step, position = _uleb(code, position)
            address += step * unit_bytes
        elif opcode == _ADVANCE_LINE:
            advance, position = _sleb(code, position)
            line += advance
        elif opcode == _SET_FILE:
            file, position = _uleb(code, position)
        elif opcode == _CONST_ADD_PC:
            address += (255 - opcode_base) // line_range * unit_bytes
        elif opcode == _FIXED_ADVANCE_PC:
            address += int.from_bytes(code[position : position + 2], "little")
            position += 2
        else:  # columns, statement and block marks, and whatever a later standard adds
            for _ in range(operands[opcode - 1]):
                _, position = _uleb(code, position)


def _uleb(code: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = code[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _sleb(code: bytes, position: int) -> tuple[int, int]:
    start = position
    value, position = _uleb(code, position)
    bits = 7 * (position - start)
    return (value - (1 << bits) if value >> (bits - 1) else value), position


def _file_names(header: Any) -> tuple[str, ...]:
    """Names by the number that the rows use, relative where the compiler was told relative ones."""
    first = 0 if header["version"] >= 5 else 1
    folders = [_text(folder) for folder in header["include_directory"]]
    names = [""] * first
    for entry in header["file_entry"]:
        index = entry.dir_index - first
        folder = folders[index] if 0 <= index < len(folders) else ""
        names.append(posixpath.normpath(posixpath.join(folder, _text(entry.name))))
    return tuple(names)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, slots=True)
class CallSites:
    """For all code of a unit that was inlined: the innermost call of it that stands in a file of our own."""

    starts: array[int]
    calls: tuple[tuple[str, int] | None, ...]

    def find(self, address: int) -> tuple[str, int] | None:
        """File and line of that call for the instruction at `address`."""
        index = bisect_right(self.starts, address) - 1
        return self.calls[index] if index >= 0 else None


def read_call_sites(dwarf: Any, unit: Any, names: Sequence[str]) -> CallSites:
    """The unit's call sites; `names` are those of its line table, absolute for files that are not ours."""
    lists = dwarf.range_lists()
    base = _attribute(unit.get_top_DIE(), "DW_AT_low_pc")
    found = [
        (start, end, (names[_attribute(entry, "DW_AT_call_file")], _attribute(entry, "DW_AT_call_line")))
        for entry in unit.iter_DIEs()
        if entry.tag == "DW_TAG_inlined_subroutine"
        for start, end in ranges(entry, unit, lists, base)
    ]
    found = [call for call in found if not posixpath.isabs(call[2][0])]
    starts = sorted({edge for start, end, _ in found for edge in (start, end)})
    calls: list[tuple[str, int] | None] = [None] * len(starts)
    for start, end, call in found:  # outer calls come first: inner ones are laid over them
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        calls[first:last] = [call] * (last - first)
    return CallSites(array("Q", starts), tuple(calls))


def ranges(entry: Any, unit: Any, lists: Any, base: int) -> Iterator[tuple[int, int]]:
    """Start and end of the code of a debugging entry; `base` is the unit's own address."""
    attributes = entry.attributes
    if "DW_AT_ranges" in attributes:
        for item in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
            if isinstance(item, BaseAddressEntry):
                base = item.base_address
            else:
                shift = 0 if getattr(item, "is_absolute", False) else base
                yield item.begin_offset + shift, item.end_offset + shift
    elif "DW_AT_high_pc" in attributes:
        low, high = _attribute(entry, "DW_AT_low_pc"), attributes["DW_AT_high_pc"]
        yield low, high.value if high.form == "DW_FORM_addr" else low + high.value


def _attribute(entry: Any, name: str) -> int:
    return int(entry.attributes[name].value) if name in entry.attributes else 0
