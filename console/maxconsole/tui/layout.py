# SPDX-License-Identifier: Apache-2.0
"""Which arrangement fits a terminal."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

#: Below this nothing sensible fits.
MIN_CELLS: Final = 60
MIN_ROWS: Final = 16


class Arrangement(StrEnum):
    """The value is the class that the style sheet knows."""

    TOO_SMALL = "-too-small"
    STACKED = "-stacked"  # chat above, one pane below, a strip of tabs between
    TILED = "-tiled"  # chat on the left, all panes on the right


def arrangement(cells: int, rows: int) -> Arrangement:
    """For a terminal of this size."""
    if cells < MIN_CELLS or rows < MIN_ROWS:
        return Arrangement.TOO_SMALL
    return Arrangement.TILED if cells >= 116 and rows >= 32 else Arrangement.STACKED


def pane_rows(rows: int) -> tuple[int, int, int, int]:
    """Rows of the panes kernels, caches, ring and log when they share `rows`.

    What there is beyond the least goes first to the kernels until all of them show, then to the ring's legend, then
    to caches and log in turn.
    """
    least, most = (8, 6, 6, 3), (21, 24, 9, 60)
    given = list(least)
    left = rows - sum(least)
    for index, wanted in ((0, 14), (1, 9), (2, 8), (3, 5), (0, most[0]), (1, 14), (3, 8), (2, most[2])):
        step = max(0, min(left, wanted - given[index]))
        given[index] += step
        left -= step
    while left > 0:
        for index in (1, 3):
            if left > 0 and given[index] < most[index]:
                given[index] += 1
                left -= 1
    return given[0], given[1], given[2], given[3]
