# SPDX-License-Identifier: Apache-2.0
"""Compiler and linker messages, parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from maxconsole.errors import UserError

Severity = Literal["error", "warning", "note"]

_COMPILER = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<severity>fatal error|error|warning|note): (?P<text>.+)$"
)
_ASSEMBLER = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+): (?P<severity>Error|Warning|Fatal error): (?P<text>.+)$")
_LINKER = re.compile(
    r"^(?:\S*ld(?:\.lld|\.bfd)?: )(?:(?P<severity>error|warning): )?(?:\S+\.o: in function `[^']*': ?)?(?P<text>\S.*)$"
)
_LINKER_PLACE = re.compile(r"^(?:>>> referenced by )?(?P<file>[\w./+-]+\.[chS]):(?P<line>\d+)")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message. `line` and `column` count from 1; 0 means that the tool gave none."""

    file: str
    line: int
    column: int
    severity: Severity
    message: str

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{place}: {self.severity}: {self.message}" if place else f"{self.severity}: {self.message}"


class CompileError(UserError):
    """The firmware does not compile or link. `diagnostics` holds the parsed messages, `output` the tools' own text."""

    def __init__(self, what: str, diagnostics: tuple[Diagnostic, ...], output: str) -> None:
        self.diagnostics = diagnostics
        self.output = output
        shown = [str(item) for item in diagnostics[:_SHOWN]] or output.strip().splitlines()[:_SHOWN]
        more = len(diagnostics) - _SHOWN
        if more > 0:
            shown.append(f"and {more} more")
        super().__init__("\n".join((what, *(f"  {line}" for line in shown))))


def parse(output: str) -> tuple[Diagnostic, ...]:
    """Messages of gcc, clang, their assemblers, GNU ld and lld in `output`, in order. Other lines are skipped."""
    found = (_parse_line(line) for line in output.splitlines())
    return tuple(dict.fromkeys(item for item in found if item is not None))


def _parse_line(line: str) -> Diagnostic | None:
    match = _COMPILER.match(line) or _ASSEMBLER.match(line)
    if match is not None:
        severity = match["severity"].lower().removeprefix("fatal ")
        column = match.groupdict().get("column")
        return Diagnostic(
            match["file"], int(match["line"]), int(column or 0), cast("Severity", severity), match["text"].strip()
        )
    match = _LINKER.match(line)
    if match is not None:
        severity = match["severity"] or "error"
        return Diagnostic("", 0, 0, cast("Severity", severity), match["text"].strip())
    match = _LINKER_PLACE.match(line)
    if match is not None:
        return Diagnostic(match["file"], int(match["line"]), 0, "note", line.partition(": ")[2] or "referenced here")
    return None


def errors(diagnostics: Iterable[Diagnostic]) -> int:
    """How many of them are errors."""
    return sum(item.severity == "error" for item in diagnostics)
