# SPDX-License-Identifier: Apache-2.0
"""Facts of a firmware image, read from its ELF file: sections, pools, segments to load, symbols, build id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from struct import error as StructError  # noqa: N812
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.elf.constants import P_FLAGS, SH_FLAGS
from elftools.elf.elffile import ELFFile

from maxconsole.boards import MemoryRange
from maxconsole.errors import UserError

POOL_SECTIONS = {"WEIGHT": ".weight_pool", "ACTIVATION": ".activation_pool", "KV_CACHE": ".kv_cache_pool"}
RTT_SYMBOL = "_SEGGER_RTT"


@dataclass(frozen=True, slots=True)
class Section:
    """A section that takes board memory. `stored` is False where the file has no bytes for it (NOBITS)."""

    name: str
    address: int
    size_bytes: int
    stored: bool
    writable: bool
    executable: bool

    @property
    def range(self) -> MemoryRange:
        return MemoryRange(self.address, self.size_bytes, self.name)


@dataclass(frozen=True, slots=True)
class Segment:
    """What a loader writes: `data` at `address`, then zeros up to `memory_bytes`."""

    address: int
    data: bytes = field(repr=False)
    memory_bytes: int
    writable: bool
    executable: bool


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name with an address. `function` is None for names that only mark a place, as linker scripts and labels do."""

    name: str
    address: int
    size_bytes: int
    function: bool | None
    defined: bool


@dataclass(frozen=True, slots=True)
class FirmwareElf:
    """An AArch64 executable. `sections` are those in memory, ascending; `pools` are three of them, by pool name."""

    path: Path
    entry: int
    build_id: str
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...] = field(repr=False)
    symbols: Mapping[str, Symbol] = field(repr=False)
    pools: Mapping[str, MemoryRange]

    def address_of(self, name: str) -> int:
        """Address of the symbol `name`. Raises UserError where the image has none."""
        symbol = self.symbols.get(name)
        if symbol is None or not symbol.defined:
            raise UserError(f"{self.path.name} has no symbol {name}", hint="build the firmware again")
        return symbol.address


@dataclass(frozen=True, slots=True)
class Usage:
    """Size of a part of the image, or of a pool, in bytes."""

    name: str
    address: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ElfReport:
    """What people want to know about an image, ready for JSON. `loaded_bytes` is what has to be transferred."""

    path: str
    build_id: str
    entry: int
    sections: tuple[Usage, ...]
    pools: tuple[Usage, ...]
    loaded_bytes: int
    image_bytes: int
    image_limit_bytes: int


def report(elf: FirmwareElf) -> ElfReport:
    """Sizes by section and by pool."""
    pool_names = set(POOL_SECTIONS.values())
    start = elf.address_of("__image_start")
    return ElfReport(
        path=str(elf.path),
        build_id=elf.build_id,
        entry=elf.entry,
        sections=tuple(
            Usage(part.name, part.address, part.size_bytes) for part in elf.sections if part.name not in pool_names
        ),
        pools=tuple(Usage(name, part.base, part.size_bytes) for name, part in elf.pools.items()),
        loaded_bytes=sum(len(segment.data) for segment in elf.segments),
        image_bytes=elf.address_of("__image_end") - start,
        image_limit_bytes=elf.address_of("__image_limit") - start,
    )


@contextmanager
def damage_reported(path: Path) -> Iterator[None]:
    """Turns what pyelftools raises for files it cannot make sense of into a UserError."""
    try:
        yield
    except (
        *(ELFError, DWARFError, ConstructError, AssertionError, AttributeError),
        *(LookupError, ValueError, TypeError, OverflowError, MemoryError, OSError, StructError),
    ) as error:
        detail = str(error) or type(error).__name__
        raise UserError(f"{path} is not a usable ELF file: {detail}", hint="build the firmware again") from error


def read_elf(path: Path) -> FirmwareElf:
    """Reads the image at `path`. Raises UserError if it is not an AArch64 executable, or damaged."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    with damage_reported(path):
        return _read(path, ELFFile(BytesIO(data)))


def _read(path: Path, elf: Any) -> FirmwareElf:
    if elf["e_machine"] != "EM_AARCH64" or elf["e_type"] != "ET_EXEC" or elf.elfclass != 64 or not elf.little_endian:
        raise UserError(f"{path} is not a 64-bit little-endian AArch64 executable")
    sections = tuple(sorted(_sections(elf), key=lambda part: part.address))
    by_name = {part.name: part for part in sections}
    return FirmwareElf(
        path=path,
        entry=elf["e_entry"],
        build_id=_build_id(elf),
        sections=sections,
        segments=tuple(_segments(elf)),
        symbols=_symbols(elf),
        pools={
            pool: MemoryRange(by_name[name].address, by_name[name].size_bytes, pool)
            for pool, name in POOL_SECTIONS.items()
            if name in by_name
        },
    )


def _sections(elf: Any) -> list[Section]:
    return [
        Section(
            name=part.name,
            address=part["sh_addr"],
            size_bytes=part["sh_size"],
            stored=part["sh_type"] != "SHT_NOBITS",
            writable=bool(part["sh_flags"] & SH_FLAGS.SHF_WRITE),
            executable=bool(part["sh_flags"] & SH_FLAGS.SHF_EXECINSTR),
        )
        for part in elf.iter_sections()
        if part["sh_flags"] & SH_FLAGS.SHF_ALLOC and part["sh_size"]
    ]


def _segments(elf: Any) -> Iterator[Segment]:
    for part in elf.iter_segments("PT_LOAD"):
        data = part.data()
        if len(data) != part["p_filesz"] or part["p_filesz"] > part["p_memsz"]:
            raise ELFError("a segment is cut off")
        if part["p_memsz"]:
            yield Segment(
                address=part["p_paddr"],
                data=data,
                memory_bytes=part["p_memsz"],
                writable=bool(part["p_flags"] & P_FLAGS.PF_W),
                executable=bool(part["p_flags"] & P_FLAGS.PF_X),
            )


def _symbols(elf: Any) -> dict[str, Symbol]:
    table = elf.get_section_by_name(".symtab")
    if table is None:
        raise UserError("the image has no symbol table")
    found: dict[str, Symbol] = {}
    for entry in table.iter_symbols():
        kind = entry["st_info"]["type"]
        if not entry.name or entry.name.startswith("$") or kind in ("STT_FILE", "STT_SECTION"):
            continue
        function = {"STT_FUNC": True, "STT_OBJECT": False}.get(kind)
        symbol = Symbol(
            entry.name, entry["st_value"], entry["st_size"], function, defined=entry["st_shndx"] != "SHN_UNDEF"
        )
        # Static functions of several files may share a name; the global one is what a look-up means.
        if entry.name not in found or entry["st_info"]["bind"] != "STB_LOCAL":
            found[entry.name] = symbol
    return found


def _build_id(elf: Any) -> str:
    section = elf.get_section_by_name(".note.gnu.build-id")
    notes = section.iter_notes() if section is not None and hasattr(section, "iter_notes") else ()
    return next((str(note["n_desc"]) for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"), "")
