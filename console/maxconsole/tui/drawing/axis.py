# SPDX-License-Identifier: Apache-2.0
"""Round numbers along a row of cells, with as many digits as tell them apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from maxconsole.tui.drawing.band import markers
from maxconsole.tui.drawing.braille import nice_top
from maxconsole.tui.drawing.ink import Line

#: Cells from one number to the next, at least.
_GAP: Final = 14

#: What a unit is worth and how it is written, ascending.
Units = Sequence[tuple[float, str]]
COUNTS: Final[Units] = ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"))
SECONDS: Final[Units] = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1, "s"))


def axis(begin: float, end: float, whole: float, cells: int, units: Units, *, per: float = 1.0) -> Line:
    """The stretch from `begin` to `end` in `cells` cells; `per` of each is one in `units`.

    The unit fits `whole`, so that zooming does not change it.
    """
    if cells <= 0 or end <= begin:
        return ()
    worth, name = next(
        ((size * per, name) for size, name in reversed(units) if whole >= size * per), (units[0][0] * per, units[0][1])
    )
    step = nice_top((end - begin) / worth * _GAP / cells)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(begin / worth / step - 1e-9), math.floor(end / worth / step + 1e-9)
    marks = []
    for number in range(first, last + 1):
        cell = int((number * step * worth - begin) / (end - begin) * cells + 1e-6)
        text = f"╷{number * step:.{digits}f} {name}".rstrip()
        if cell + len(text) <= cells:
            marks.append((cell, text))
    return markers(marks, cells)
