# SPDX-License-Identifier: Apache-2.0
"""What one core or the NPU did in a step: pieces one after the other, and which of them fills a stretch of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.schema import wire
from maxconsole.telemetry.snapshot import name_of

Cycles = npt.NDArray[np.int64]

#: Of a stretch of time, what pieces have to cover for it to be called theirs and not a gap.
_COVERED: Final = 0.5


@dataclass(frozen=True, slots=True)
class Moment:
    """A piece of a lane, for the line about what is under the cursor. `layer` is None outside of all layers."""

    kernel: str
    layer: int | None
    cycles: int
    about: str  # the name of a figure
    figure: str


@dataclass(frozen=True, eq=False)
class Lane:
    """What a core or the NPU did: pieces that do not overlap, by begin, in cycles after the step's start."""

    name: str
    title: str
    kinds: tuple[str, ...]
    kind: npt.NDArray[np.int64]  # of each piece: its place in `kinds`
    begin: Cycles
    end: Cycles
    busy: float  # of the step, 0..1, waiting left out
    describe: Callable[[int], Moment]  # the piece of this number

    @cached_property
    def _clocks(self) -> dict[str, tuple[Cycles, Cycles]]:
        """For each kind its pieces' bounds, and the cycles spent in it up to each of those."""
        clocks = {}
        for number in np.unique(self.kind).tolist():
            own = self.kind == number
            bounds = np.stack([self.begin[own], self.end[own]], axis=1).ravel()
            spent = np.cumsum(np.diff(bounds, prepend=bounds[:1])[1::2])
            clocks[self.kinds[number]] = bounds, np.repeat(np.concatenate([[0], spent]), 2)[1:-1]
        return clocks

    def spent(self, edges: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
        """Cycles in each kind between one edge and the next. `edges` ascend, in cycles after the step's start."""
        return {kind: np.diff(np.interp(edges, *clock)) for kind, clock in self._clocks.items()}

    def names(self, edges: npt.NDArray[np.float64]) -> list[str]:
        """A kind for each stretch of equal length; "" where pieces cover less than half of it.

        Where several share a stretch, it is the one that has so far been shown the least for its cycles: from afar,
        kinds have as many stretches as their share, and none has one that it is not in.
        """
        spent = self.spent(edges)
        if not spent:
            return [""] * (len(edges) - 1)
        names, cycles = list(spent), np.stack(list(spent.values()))
        covered = cycles.sum(axis=0) >= _COVERED * np.diff(edges)
        owed, shown = [0.0] * len(names), []
        for stretch, enough in zip(cycles.T.tolist(), covered.tolist(), strict=True):
            if not enough:
                shown.append("")
                continue
            owed = [before + more for before, more in zip(owed, stretch, strict=True)]
            chosen = max((at for at, more in enumerate(stretch) if more > 0), key=owed.__getitem__)
            owed[chosen] -= sum(stretch)
            shown.append(names[chosen])
        return shown

    def moment(self, kind: str, begin: float, end: float) -> Moment | None:
        """The piece of `kind` that takes the most of this stretch; None where it has none there."""
        own = self.kind == (self.kinds.index(kind) if kind in self.kinds else -1)
        shared = np.where(own, np.minimum(self.end, end) - np.maximum(self.begin, begin), 0)
        return self.describe(int(shared.argmax())) if own.any() and shared.max() > 0 else None


def kernel_name(number: int) -> str:
    """As the schema calls it; the number itself for one that it does not know."""
    return name_of(wire.Kernel, number) or ""


def layer_of(record: np.void) -> int | None:
    """None outside of all layers."""
    return None if record["layer"] == wire.NO_LAYER else int(record["layer"])
