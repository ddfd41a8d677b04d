# SPDX-License-Identifier: Apache-2.0
"""Plain text that reads well: aligned tables, emphasis on terminals, numbers with units."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Sequence
from typing import TextIO

_GAP = "  "


def emphasized(text: str, stream: TextIO, *, color: int = 0) -> str:
    """`text` bold, in an ANSI color if given, where `stream` is a terminal and NO_COLOR is not set."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[1;{color}m{text}\x1b[0m" if color else f"\x1b[1m{text}\x1b[0m"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text: Collection[int] = (0,)) -> list[str]:
    """Lines of a table; the columns in `text` are flush left, the others flush right."""
    widths = [max(map(columns_of, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        cells = []
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            fill = " " * (width - columns_of(cell))
            cells.append(cell + fill if index in text else fill + cell)
        lines.append(_GAP.join(cells).rstrip())
    return lines


def pairs(values: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of `name  value`, the values aligned."""
    width = max((columns_of(name) for name, _ in values), default=0)
    return [f"{name}{' ' * (width - columns_of(name))}{_GAP}{value}" for name, value in values]


def columns_of(text: str) -> int:
    """Terminal columns that `text` takes."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def count(value: int) -> str:
    """A whole number with thousands set apart: 1 234 567."""
    return f"{value:,}".replace(",", " ")


def quantity(value: float, unit: str = "") -> str:
    """Three digits and a decimal prefix: 2.4 GHz, 17 GB/s, 135 M."""
    for power, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= power:
            return f"{value / power:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


def size(value: int) -> str:
    """Bytes with a binary prefix: 576 KiB, 93.4 MiB."""
    for power, prefix in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power:
            amount = value / (1 << power)
            return f"{amount:.0f} {prefix}" if amount == int(amount) else f"{amount:.1f} {prefix}"
    return f"{value} bytes"


def percent(value: float | None, digits: int = 1) -> str:
    """A ratio in percent, or a dash where it is not known."""
    return "-" if value is None else f"{100 * value:.{digits}f}"


def fixed(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where it is not known."""
    return "-" if value is None else f"{value:.{digits}f}"


def duration(seconds: float) -> str:
    """0.21 s, 12.3 s, 2 min 03 s."""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
