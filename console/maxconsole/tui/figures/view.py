# SPDX-License-Identifier: Apache-2.0
"""The part of a step that is in sight, and the cursor in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

#: Halvings of the view. 2^-18 of the longest prefill batch is a few kernels.
_ZOOM_MAX: Final = 18


@dataclass(frozen=True, slots=True)
class View:
    """Fractions of the whole, so that the same view fits the next step: `begin` of the view, and the cursor `at`."""

    zoom: int = 0
    begin: float = 0.0
    at: float = 0.0

    @property
    def span(self) -> float:
        """How much of the whole is in sight."""
        return 0.5**self.zoom

    def zoomed(self, steps: int) -> Self:
        """Twice as close for each step, or half as close; around the cursor."""
        closer = replace(self, zoom=max(0, min(_ZOOM_MAX, self.zoom + steps)))
        return closer._around(self.at)

    def moved(self, views: float) -> Self:
        """The cursor goes by so many views, and the view along with it: it is in the middle, but for the ends."""
        return self._around(self.at + views * self.span)

    def pointed(self, part: float) -> Self:
        """The cursor goes to this part of the view, 0..1, which stays where it is."""
        return replace(self, at=_within(self.begin + part * self.span, 1.0))

    def cell(self, cells: int) -> int:
        """The cursor's cell where the view has so many."""
        return max(0, min(cells - 1, int((self.at - self.begin) / self.span * cells + 1e-6)))

    def _around(self, at: float) -> Self:
        at = _within(at, 1.0)
        return replace(self, at=at, begin=_within(at - self.span / 2, 1.0 - self.span))


def _within(value: float, most: float) -> float:
    return max(0.0, min(most, value))
