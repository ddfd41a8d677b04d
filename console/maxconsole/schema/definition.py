# SPDX-License-Identifier: Apache-2.0
"""Reads and checks a schema file: constants, enumerations and structs with natural alignment and no hidden padding."""

from __future__ import annotations

import json
import re
import tomllib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import cast

#: C type, `struct` code, numpy code and size in bytes of every scalar.
SCALARS: dict[str, tuple[str, str, str, int]] = {
    "u8": ("uint8_t", "B", "u1", 1),
    "u16": ("uint16_t", "H", "<u2", 2),
    "u32": ("uint32_t", "I", "<u4", 4),
    "u64": ("uint64_t", "Q", "<u8", 8),
    "i8": ("int8_t", "b", "i1", 1),
    "i16": ("int16_t", "h", "<i2", 2),
    "i32": ("int32_t", "i", "<i4", 4),
    "i64": ("int64_t", "q", "<i8", 8),
    "f32": ("float", "f", "<f4", 4),
    "f64": ("double", "d", "<f8", 8),
    "char": ("char", "s", "S1", 1),
}

_TYPE = re.compile(r"(\w+)(?:\[(\d+)\])?")
_COMMENTED = re.compile(r"^(?:\[(?P<table>[\w.]+)\]|(?P<key>\w+)\s*=\s*[^#]*?)\s*(?:#\s*(?P<comment>.*))?$")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TABLES = {"constants", "enum", "struct", "c_name"}


class SchemaError(Exception):
    """A rule that the schema file breaks, with the file's and the entry's name."""


@dataclass(frozen=True, slots=True)
class Field:
    """A struct's field. `count` is None for a single value; `offset` and `size` are in bytes."""

    name: str
    type: str
    count: int | None
    offset: int
    size: int
    comment: str

    @property
    def reserved(self) -> bool:
        """Explicit padding: zero on the wire, and no attribute in Python."""
        return self.name.startswith("reserved")


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct's fixed part, and the element type of the run that follows it, if there is one."""

    name: str
    c_name: str
    fields: tuple[Field, ...]
    tail: str | None
    size: int
    align: int
    comment: str


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Named values; with `flags` every value is one bit."""

    name: str
    members: tuple[tuple[str, int, str], ...]
    flags: bool
    comment: str


@dataclass(frozen=True, slots=True)
class Schema:
    """A whole schema file. `hash` is the CRC-32 of its content without comments and formatting."""

    name: str
    constants: tuple[tuple[str, int, str], ...]
    enumerations: tuple[Enumeration, ...]
    structs: tuple[Struct, ...]
    hash: int

    def struct(self, name: str) -> Struct:
        """The struct called `name`."""
        return next(struct for struct in self.structs if struct.name == name)


def snake(name: str) -> str:
    """`KernelEvent` -> `kernel_event`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def read_schema(path: Path) -> Schema:
    """The schema at `path`. Raises SchemaError for whatever the generated code could not express faithfully."""
    text = path.read_text(encoding="utf-8")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{path.name}: {error}") from error
    unknown = data.keys() - _TABLES
    if unknown:
        raise SchemaError(f"{path.name}: unknown table {sorted(unknown)[0]}; known: {', '.join(sorted(_TABLES))}")
    return _Reader(path.name, _comments(text), data.pop("c_name", {})).schema(path.stem, data)


def _comments(text: str) -> dict[tuple[str, str], str]:
    """End-of-line comments by (table, key); key "" is the table's own."""
    found: dict[tuple[str, str], str] = {}
    table = ""
    for line in text.splitlines():
        match = _COMMENTED.match(line.strip())
        if match is None:
            continue
        table = match["table"] or table
        if match["comment"]:
            found[table, match["key"] or ""] = match["comment"].strip()
    return found


class _Reader:
    def __init__(self, file: str, comments: dict[tuple[str, str], str], c_names: dict[str, str]) -> None:
        self._file = file
        self._comments = comments
        self._c_names = c_names
        self._structs: dict[str, Struct] = {}

    def schema(self, name: str, data: dict[str, dict[str, object]]) -> Schema:
        constants = tuple(
            (key, self._integer(f"constants.{key}", value), self._comments.get(("constants", key), ""))
            for key, value in data.get("constants", {}).items()
        )
        enumerations = tuple(
            self._enumeration(key, cast(dict[str, object], members)) for key, members in data.get("enum", {}).items()
        )
        for key, fields in data.get("struct", {}).items():
            self._structs[key] = self._struct(key, cast(dict[str, object], fields))
        unused = self._c_names.keys() - self._structs.keys()
        if unused:
            raise self._error("c_name", f"no struct {sorted(unused)[0]}")
        structs = tuple(self._structs.values())
        c_names = [struct.c_name for struct in structs]
        if len(set(c_names)) != len(c_names):
            raise self._error("struct", "two structs have the same name in C")
        canonical = json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode()
        return Schema(name, constants, enumerations, structs, zlib.crc32(canonical))

    def _enumeration(self, name: str, members: dict[str, object]) -> Enumeration:
        table = f"enum.{name}"
        flags = name.endswith(("Flag", "Flags"))
        seen: dict[int, str] = {}
        listed = []
        for member, raw in members.items():
            value = self._integer(f"{table}.{member}", raw)
            if not _NAME.fullmatch(member):
                raise self._error(f"{table}.{member}", "not a name")
            if value in seen:
                raise self._error(f"{table}.{member}", f"{value} is already {seen[value]}")
            if flags and value.bit_count() != 1:
                raise self._error(f"{table}.{member}", f"{value} is not one bit")
            seen[value] = member
            listed.append((member.upper(), value, self._comments.get((table, member), "")))
        if not listed:
            raise self._error(table, "empty")
        return Enumeration(name, tuple(listed), flags, self._comments.get((table, ""), ""))

    def _struct(self, name: str, members: dict[str, object]) -> Struct:
        table = f"struct.{name}"
        tail = None
        fields: list[Field] = []
        end = 0
        align = 1
        for member, spelled in members.items():
            where = f"{table}.{member}"
            type_, count, size, field_align = self._type(where, spelled)
            if tail is not None:
                raise self._error(where, "follows `tail`, which must be the last")
            if member == "tail":
                if count is not None:
                    raise self._error(where, "a tail is open-ended, so it has no count")
                tail = type_
                align = max(align, field_align)
                continue
            if not _NAME.fullmatch(member):
                raise self._error(where, "not a name")
            if end % field_align:
                raise self._error(
                    where, f"at offset {end}, which needs {field_align - end % field_align} bytes before it"
                )
            fields.append(Field(member, type_, count, end, size, self._comments.get((table, member), "")))
            end += size
            align = max(align, field_align)
        if not fields and tail is None:
            raise self._error(table, "empty")
        if end % align:
            raise self._error(table, f"{end} bytes, which needs {align - end % align} more at the end")
        return Struct(
            name,
            self._c_names.get(name, snake(name)),
            tuple(fields),
            tail,
            end,
            align,
            self._comments.get((table, ""), ""),
        )

    def _type(self, where: str, spelled: object) -> tuple[str, int | None, int, int]:
        match = _TYPE.fullmatch(spelled) if isinstance(spelled, str) else None
        if match is None:
            raise self._error(where, f"{spelled!r} is not a type")
        type_ = match[1]
        count = int(match[2]) if match[2] else None
        if count == 0:
            raise self._error(where, "an array of nothing")
        if type_ in SCALARS:
            align = each = SCALARS[type_][3]
        elif type_ in self._structs:
            if self._structs[type_].tail is not None:
                raise self._error(where, f"{type_} is open-ended and cannot be inside another struct")
            each, align = self._structs[type_].size, self._structs[type_].align
        else:
            raise self._error(where, f"unknown type {type_}; a struct must be described before it is used")
        return type_, count, each * (count or 1), align

    def _integer(self, where: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**32:
            raise self._error(where, f"{value!r} is not a number of 0..2^32-1")
        return value

    def _error(self, where: str, rule: str) -> SchemaError:
        return SchemaError(f"{self._file}: {where}: {rule}")
