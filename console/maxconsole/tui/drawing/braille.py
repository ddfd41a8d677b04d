# SPDX-License-Identifier: Apache-2.0
"""A history line in braille: two samples a column, four levels a row."""

from __future__ import annotations

from collections.abc import Sequence

#: Dot bits of a braille cell (Unicode 1.1, U+2800), by column and by row from the top.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BLANK = 0x2800


def history(values: Sequence[float | None], cells: int, rows: int, top: float) -> list[str]:
    """The latest `2 * cells` values as `rows` strings of `cells` braille characters, the newest at the right.

    `top` is the value of the upper edge; larger ones are drawn on it. Neighbors are joined by a vertical stroke, so
    that a jump is a line and not two dots. None leaves a gap.
    """
    if cells <= 0 or rows <= 0:
        return []
    shown = values[-2 * cells :]
    columns: list[float | None] = [*(None for _ in range(2 * cells - len(shown))), *shown]
    grid = [[0] * cells for _ in range(rows)]
    levels = 4 * rows - 1
    before: int | None = None
    for x, value in enumerate(columns):
        if value is None or top <= 0:
            before = None
            continue
        level = round(min(1.0, max(0.0, value / top)) * levels)
        start = level if before is None else _toward(before, level)
        for y in range(min(start, level), max(start, level) + 1):
            row, dot = divmod(levels - y, 4)
            grid[row][x // 2] |= _DOTS[x % 2][dot]
        before = level
    return ["".join(chr(_BLANK + bits) for bits in row) for row in grid]


def _toward(before: int, level: int) -> int:
    """One step from `before` toward `level`: the dot at `before` itself belongs to the column on the left."""
    return before + (level > before) - (level < before)


def nice_top(peak: float) -> float:
    """The next of 1, 2, 5 times a power of ten at or above `peak`: an upper edge that does not jitter."""
    if peak <= 0:
        return 0.01
    scale = 1e-9
    while scale < 1e15:
        for step in (1, 2, 5):
            if peak <= step * scale * 1.0000001:
                return step * scale
        scale *= 10
    return peak
