# SPDX-License-Identifier: Apache-2.0
"""Chooses the integers of requantization (`models.requantize`): u of a matrix input, c of each output.

c is as large as lets weights use all of int8. Where a format has a minimum, groups' scales become 8-bit integers, and
what that rounds off is multiplied with the loudest channels: c may then be up to a sixteenth smaller, where the loudest
groups' scales come out nearly whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from maxconsole.models.blocks import I8
from maxconsole.models.requantize import A_LIMIT, CENTER, FRACTION_BITS
from maxconsole.models.unpack import I32, PackedWeights
from maxconsole.schema.image import GROUP

I16 = npt.NDArray[np.int16]
F64 = npt.NDArray[np.float64]

_ONE: Final = 1 << FRACTION_BITS
_INT8_MAX: Final = 127
_INT16_MAX: Final = 32767
#: largest magnitude of a center times c: leaves room for what is added to it
_CENTER_LIMIT: Final = 16383
#: of the outputs use all of int8; the others' scales would be too large for A
_SHARE: Final = 0.9
#: multipliers tried per output, from the largest down to this share of it
_CANDIDATES: Final = 48
_LEAST: Final = 15 / 16
#: mean of (q - CENTER)^2 of 4-bit codes that are used alike
_CODE_VARIANCE: Final = 21.5


@dataclass(frozen=True, slots=True)
class Loudness:
    """What roundings of weights are multiplied with, as sums of squares over channels.

    groups [K / GROUP]: of rounding a group's integers; weights: of rounding int8 weights, for u = 1.
    """

    groups: F64
    weights: float

    @classmethod
    def of(cls, activations: F64, factors: I8) -> Self:
        """activations: how loud each channel is; factors: s, padding included."""
        squares = np.zeros(len(factors))
        squares[: len(activations)] = np.square(activations)
        steps = _ONE / np.maximum(factors.astype(np.float64), 1)  # of a weight, in units of q A + B
        return cls(squares.reshape(-1, GROUP).sum(axis=1), float((squares * steps**2).sum()) / 12)


@dataclass(frozen=True, slots=True)
class ColumnRanges:
    """Of outputs: di [outputs][groups], mi + 8 di likewise where there is a minimum, and the largest magnitude of
    weights times s [outputs], in units of D.
    """

    scales: I32
    minimums: I32 | None
    weights: F64

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Of a matrix in runs of outputs."""
        minimums = [part.minimums for part in parts if part.minimums is not None]
        return cls(
            np.concatenate([part.scales for part in parts]),
            np.concatenate(minimums) if minimums else None,
            np.concatenate([part.weights for part in parts]),
        )

    @property
    def needed_unit(self) -> F64:
        """For each output the u from which on A and the weights use all of their ranges; none without minima."""
        if self.minimums is None:
            return np.empty(0)
        used = self.weights > 0
        return np.asarray(_INT8_MAX * _ONE / A_LIMIT * self.scales[used].max(axis=1) / self.weights[used], np.float64)

    def multipliers(self, unit: int, loudness: Loudness) -> I16:
        """c [outputs]. 0 for matrices that have no int8 form: with a minimum and a scale below zero."""
        scales = np.abs(self.scales).max(axis=1).astype(np.float64)
        with np.errstate(divide="ignore"):
            if self.minimums is None:
                return _whole([_INT8_MAX * _ONE * _ONE / 8 / self.weights, _INT16_MAX * _ONE / 8 / scales])
            if (self.scales < 0).any():
                return np.zeros(len(scales), np.int16)
            centers = np.abs(self.minimums).max(axis=1)
            limits = [_INT8_MAX * _ONE * _ONE / unit / self.weights, A_LIMIT * _ONE / scales]
            largest = _whole([*limits, _CENTER_LIMIT * _ONE / centers])
        return self._quietest(largest, loudness.groups, loudness.weights / unit**2)

    def _quietest(self, largest: I16, groups: F64, weights: float) -> I16:
        """The candidate with the least noise for each output."""
        assert self.minimums is not None
        shares = np.linspace(1, _LEAST, _CANDIDATES)
        candidates = np.maximum(np.floor(largest * shares[:, None]), 1)  # [candidates][outputs]
        best = np.empty(len(largest), np.int16)
        for output in range(len(largest)):
            c = candidates[:, output, None] / _ONE
            error = _CODE_VARIANCE * _rounding(self.scales[output] * c) + _rounding(self.minimums[output] * c)
            noise = (error @ groups + weights) / np.square(c[:, 0])
            best[output] = candidates[noise.argmin(), output]
        return best


def column_ranges(weights: PackedWeights, smoothing: I8) -> ColumnRanges:
    """smoothing: s [K], padding included."""
    largest = np.abs(weights.integers() * smoothing.astype(np.int32)).max(axis=1)
    centers = None if weights.minimums is None else weights.minimums + CENTER * weights.scales
    return ColumnRanges(weights.scales, centers, largest.astype(np.float64))


def shared_unit(ranges: Sequence[ColumnRanges]) -> int:
    """u for all outputs that read an input; s u fits int16."""
    needed = np.concatenate([found.needed_unit for found in ranges])
    if not len(needed):
        return 1
    return int(np.clip(np.ceil(np.quantile(needed, _SHARE)), 1, _INT16_MAX // _INT8_MAX))


def _whole(limits: Sequence[F64]) -> I16:
    return np.asarray(np.clip(np.minimum.reduce(limits), 1, _INT16_MAX), np.int16)


def _rounding(values: F64) -> F64:
    """Square of what rounding takes off."""
    return np.asarray(np.square(values - np.rint(values)), np.float64)
