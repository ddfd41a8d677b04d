# SPDX-License-Identifier: Apache-2.0
"""Errors as lines: what happened, what to do next; compiler messages with the source line they are about."""

from __future__ import annotations

import traceback
from pathlib import Path

from maxconsole import paths
from maxconsole.errors import UserError
from maxconsole.firmware.diagnostics import CompileError, Diagnostic
from maxconsole.link.text import printable
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.wrap import wrap

_INKS = {"error": Ink.BAD, "warning": Ink.WARN, "note": Ink.DIM}
_MARKS = {"error": "■", "warning": "▲", "note": "·"}


def describe(error: Exception, cells: int) -> list[Line]:
    """The error in lines of at most `cells` cells."""
    if isinstance(error, CompileError):
        return _compile_error(error, cells)
    if isinstance(error, UserError):
        lines = _wrapped(error.what, cells, Ink.WARN)
        return [*lines, *([()] if error.hint else []), *_wrapped(error.hint, cells, Ink.PLAIN)]
    words = "".join(traceback.format_exception(error))
    return [
        line(Span(" this is a mistake in maxconsole itself; please report these lines", Ink.WARN)),
        (),
        *_wrapped(words, cells, Ink.DIM),
    ]


def _wrapped(text: str, cells: int, ink: Ink) -> list[Line]:
    if not text:
        return []
    return [line(" ", Span(row, ink)) for part in text.split("\n") for row in wrap(printable(part), cells - 1)]


def _compile_error(error: CompileError, cells: int) -> list[Line]:
    first = error.what.splitlines()[0]
    lines = [line(Span(f" {first}", Ink.WARN)), ()]
    if not error.diagnostics:
        return lines + _wrapped(error.output, cells, Ink.PLAIN)
    for one in error.diagnostics:
        lines += _diagnostic(one, cells)
    return lines


def _diagnostic(one: Diagnostic, cells: int) -> list[Line]:
    """`■ file:line:column  message`, then the source line with a caret."""
    place = ":".join(str(part) for part in (one.file, one.line, one.column) if part)
    ink = _INKS[one.severity]
    lines = [
        line(Span(f" {_MARKS[one.severity]} ", ink), Span(printable(place), Ink.STRONG), Span(f"  {one.severity}", ink))
    ]
    lines += [line("   ", *spans) for spans in _wrapped(one.message, cells - 3, Ink.PLAIN)]
    source = _source_line(one)
    if source is not None:
        number = f"{one.line:>5} │ "
        lines.append(line(Span(f"   {number}", Ink.DIM), Span(printable(source.expandtabs(4)))))
        if one.column:
            before = len(source[: one.column - 1].expandtabs(4))
            lines.append(line(Span(" " * (3 + len(number) - 2) + "│ " + " " * before, Ink.DIM), Span("^", Ink.BAD)))
    return [*lines, ()]


def _source_line(one: Diagnostic) -> str | None:
    """The line that the compiler means; None where the file is not ours or has changed since."""
    root = paths.firmware_dir().parent.resolve()
    file = (root / one.file).resolve() if one.file else root
    if not one.line or not file.is_file() or not file.is_relative_to(root):
        return None
    return _nth_line(file, one.line)


def _nth_line(file: Path, number: int) -> str | None:
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return lines[number - 1].rstrip() if number <= len(lines) else None
