# SPDX-License-Identifier: Apache-2.0
"""Registers as a stub's target description names them ("Debugging with GDB", appendix G)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from maxconsole.errors import BoardError

_INCLUDE = "include"  # written xi:include, mostly without declaring the prefix
_DEPTH_MAX = 4


@dataclass(frozen=True, slots=True)
class Register:
    """A register's name, number and width in bytes."""

    name: str
    number: int
    size: int


def read_description(read: Callable[[str], bytes]) -> tuple[Register, ...]:
    """All registers, by number. `read` fetches a document by name; target.xml includes others.

    Raises BoardError where a document is not what it should be.
    """
    found: list[Register] = []
    _collect(read, "target.xml", found, 0)
    return tuple(sorted(found, key=lambda register: register.number))


def _collect(read: Callable[[str], bytes], name: str, found: list[Register], depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise BoardError("the debugger stub's target description includes itself")
    try:
        root = ET.fromstring(read(name).replace(b"<xi:", b"<").replace(b"</xi:", b"</"))
        for element in root.iter():
            if element.tag == _INCLUDE:
                _collect(read, element.attrib["href"], found, depth + 1)
            elif element.tag == "reg":
                number = int(element.get("regnum") or (found[-1].number + 1 if found else 0))
                found.append(Register(element.attrib["name"], number, int(element.attrib["bitsize"]) // 8))
    except (ET.ParseError, KeyError, ValueError) as error:
        raise BoardError(f"the debugger stub's {name} is not understood: {error}") from error


def unpack_general(registers: tuple[Register, ...], data: bytes) -> Mapping[str, int]:
    """Values of a `g` answer: the registers in the order of their numbers, for as long as there is data."""
    values: dict[str, int] = {}
    at = 0
    for register in registers:
        if at + register.size > len(data):
            break
        values[register.name] = int.from_bytes(data[at : at + register.size], "little")
        at += register.size
    return values
