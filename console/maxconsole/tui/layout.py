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


#: Rows of the panes kernels, caches, ring, log and timeline: what each needs to be of use, and what it can use.
_LEAST: Final = (10, 7, 7, 3, 8)
_MOST: Final = (21, 24, 9, 60, 16)
#: Which of them make room first where not all have it.
_YIELDING: Final = (4, 2, 1, 3, 0)
#: Rows go to these panes in turn, up to so many: until most kernels show, then until each of the others is rounded off.
_WANTED: Final = ((0, 14), (1, 9), (2, 8), (4, 10), (3, 5), (0, 21), (2, 9), (1, 14), (3, 8), (4, 14))


def pane_rows(rows: int, shown: int) -> tuple[int, ...]:
    """Rows of the panes when they share `rows`, by their numbers.

    Where there is not enough for all, some are only a rule with their key figure, but never `shown`, the one that was
    looked at last.
    """
    given = list(_LEAST)
    for index in _YIELDING:
        if sum(given) > rows and index != shown:
            given[index] = 1
    open_ones = [index for index in range(len(given)) if given[index] > 1]
    left = rows - sum(given)
    for index, wanted in _WANTED:
        if index in open_ones:
            step = max(0, min(left, wanted - given[index]))
            given[index] += step
            left -= step
    growing = [index for index in (1, 3) if index in open_ones] or open_ones
    while left > 0 and any(given[index] < _MOST[index] for index in growing):
        for index in growing:
            if left > 0 and given[index] < _MOST[index]:
                given[index] += 1
                left -= 1
    return tuple(given)
