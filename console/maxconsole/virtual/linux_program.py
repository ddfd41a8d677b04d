# SPDX-License-Identifier: Apache-2.0
"""The Linux program that is to be modeled: what it is, and where its functions are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from maxconsole.errors import UserError
from maxconsole.firmware.elf import damage_reported

_CLONE = re.compile(r"\.(?:isra|constprop)\.\d+")  # what GCC appends to a function whose parameters it changed
_HINT = "link it with: aarch64-linux-gnu-gcc -static -no-pie"


@dataclass(frozen=True, slots=True)
class Program:
    """A static AArch64 executable and the addresses of its functions, by name."""

    path: Path
    functions: Mapping[str, int] = field(repr=False)

    def address_of(self, name: str) -> int:
        """Raises UserError where there is no such function, with names that look like it."""
        if name in self.functions:
            return self.functions[name]
        alike = get_close_matches(name, self.functions, n=3)
        inlined = "was it inlined, or stripped?"
        raise UserError(
            f"{self.path.name} has no function {name}",
            hint=f"did you mean {', '.join(alike)}?" if alike else inlined,
        )

    def name_at(self, address: int) -> str:
        """The function that begins at `address`."""
        return next(name for name, at in self.functions.items() if at == address)


def read_program(path: Path) -> Program:
    """Raises UserError for anything but a static, not relocatable AArch64 program."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    if data[:4] != b"\x7fELF":
        raise UserError(f"{path} is not an ELF file", hint="give an AArch64 program")
    with damage_reported(path):
        elf = ELFFile(BytesIO(data))
        machine, kind = elf["e_machine"], elf["e_type"]
        interpreter = any(segment["p_type"] == "PT_INTERP" for segment in elf.iter_segments())
        table = elf.get_section_by_name(".symtab")
        functions = {
            _CLONE.sub("", symbol.name): int(symbol["st_value"])
            for symbol in (table.iter_symbols() if isinstance(table, SymbolTableSection) else ())
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF"
        }
    if machine != "EM_AARCH64" or elf.elfclass != 64:
        raise UserError(f"{path} is not a 64-bit AArch64 program", hint="build it with aarch64-linux-gnu-gcc -static")
    if interpreter:
        raise UserError(f"{path} is linked dynamically", hint=_HINT)
    if kind != "ET_EXEC":
        raise UserError(f"{path} is position-independent, so that its symbols have no addresses", hint=_HINT)
    return Program(path, functions)
