# SPDX-License-Identifier: Apache-2.0
"""Compiler and linker messages, parsed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from maxconsole.errors import UserError

Severity = Literal["error", "warning", "note"]

_COMPILER = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<severity>[Ff]atal error|[Ee]rror|[Ww]arning|note): (?P<text>.+)$"
)
_LINKER = re.compile(r"^(?:\S*\bld(?:\.bfd|\.lld)?: )(?:(?P<severity>error|warning): )?(?P<text>\S.*)$")
_LINKER_PLACE = re.compile(r"^(?P<file>[^:()]+\.[chS]):(?P<line>\d+):(?:\([^)]*\):)? (?P<text>.+)$")
_LLD_PLACE = re.compile(r"^>>> (?P<text>referenced by|defined at) [^(]*\((?P<file>[^:()]+):(?P<line>\d+)\)$")
_FOLLOWS = re.compile(r"in function `|relocation truncated to fit: .* against undefined symbol")
"""What GNU ld says besides the message that counts."""
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
        count = sum(item.severity == "error" for item in diagnostics)
        heading = f"{what}: {count} error{'s' if count > 1 else ''}" if count else what
        shown = [str(item) for item in diagnostics[:_SHOWN]] or output.strip().splitlines()[:_SHOWN]
        more = len(diagnostics) - _SHOWN
        if more > 0:
            shown.append(f"and {more} more")
        super().__init__("\n".join((heading, *(f"  {line}" for line in shown))))


def parse_compiler(output: str) -> tuple[Diagnostic, ...]:
    """Messages of gcc, clang and their assemblers, in order, each once. Other lines are skipped."""
    found = (_COMPILER.match(line) for line in output.splitlines())
    return tuple(dict.fromkeys(_located(match, match["severity"]) for match in found if match is not None))


def parse_linker(output: str) -> tuple[Diagnostic, ...]:
    """Messages of GNU ld and lld, in order, each once. Other lines are skipped."""
    return tuple(dict.fromkeys(_linker_messages(output)))


def _linker_messages(output: str) -> Iterator[Diagnostic]:
    for line in output.splitlines():
        lld_place = _LLD_PLACE.match(line)
        if lld_place is not None:
            yield _located(lld_place, "note", lld_place["text"].partition(" ")[0] + " here")
            continue
        tool = _LINKER.match(line)
        severity, text = (tool["severity"] or "error", tool["text"]) if tool else ("error", line)
        place = _LINKER_PLACE.match(text)
        if _FOLLOWS.search(text):
            continue
        if place is not None:
            yield _located(place, severity)
        elif tool is not None:
            yield Diagnostic("", 0, 0, cast("Severity", severity), text.strip())


def _located(match: re.Match[str], severity: str, text: str = "") -> Diagnostic:
    return Diagnostic(
        file=posixpath.normpath(match["file"]),
        line=int(match["line"]),
        column=int(match.groupdict().get("column") or 0),
        severity=cast("Severity", severity.lower().removeprefix("fatal ")),
        message=text or match["text"].strip(),
    )
