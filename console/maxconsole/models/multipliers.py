# SPDX-License-Identifier: Apache-2.0
"""Chooses the integers of requantization (`models.requantize`): u of a matrix input, c of each output.

c is as large as lets weights use all of int8, or up to a sixteenth smaller: what rounding does to an output is decided
by the loudest channels, and among a dozen multipliers there is one with which their weights come out nearly whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from maxconsole.models.blocks import I8
from maxconsole.models.requantize import (
    A_LIMIT,
    CENTER,
    FRACTION_BITS,
    UNIT_SMOOTHING,
    column_scales,
    requantize,
)
from maxconsole.models.unpack import PackedWeights

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
_CANDIDATES: Final = 12
_LEAST: Final = 15 / 16
#: channels whose rounding is looked at
_LOUDEST: Final = 64


@dataclass(frozen=True, slots=True)
class Loudness:
    """What rounding an int8 weight is multiplied with, squared: the smoothed activations.

    channels [n]: the loudest ones; squares [n] theirs; rest: the sum of all others'.
    """

    channels: npt.NDArray[np.intp]
    squares: F64
    rest: float

    @classmethod
    def of(cls, activations: F64, factors: I8) -> Self:
        """activations: how loud each channel is; factors: s, padding included."""
        squares = np.square(activations / factors[: len(activations)])
        order = np.argsort(-squares, kind="stable")
        loudest = np.sort(order[:_LOUDEST])
        return cls(loudest, squares[loudest], float(squares[order[_LOUDEST:]].sum()))


@dataclass(frozen=True, slots=True)
class ColumnRanges:
    """Of outputs, in units of D: largest |di|, |mi + 8 di| (0 without minimum) and |weight times s|; their weights of
    the loudest channels; whether they have an int8 form.
    """

    scales: F64
    centers: F64
    weights: F64
    loudest: PackedWeights
    usable: bool

    @property
    def has_minimum(self) -> bool:
        return self.loudest.minimums is not None

    @property
    def needed_unit(self) -> F64:
        """For each output the u from which on A and the weights use all of their ranges; none without minima."""
        if not self.has_minimum:
            return np.empty(0)
        used = self.weights > 0
        return np.asarray(_INT8_MAX * _ONE / A_LIMIT * self.scales[used] / self.weights[used], np.float64)

    def multipliers(self, unit: int, loudness: Loudness, smoothing: I8) -> I16:
        """c [outputs]. 0 for matrices that have no int8 form: with a minimum and a scale below zero."""
        if not self.usable:
            return np.zeros(len(self.scales), np.int16)
        with np.errstate(divide="ignore"):
            if self.has_minimum:
                limits = [_INT8_MAX * _ONE * _ONE / unit / self.weights, A_LIMIT * _ONE / self.scales]
                limits.append(_CENTER_LIMIT * _ONE / self.centers)
            else:
                limits = [_INT8_MAX * _ONE * _ONE / 8 / self.weights, _INT16_MAX * _ONE / 8 / self.scales]
        largest = np.clip(np.minimum.reduce(limits), 1, _INT16_MAX)
        return self._quietest(largest, unit, loudness, smoothing[loudness.channels])

    def _quietest(self, largest: F64, unit: int, loudness: Loudness, smoothing: I8) -> I16:
        """The candidate with the least noise for each output."""
        exact = self.loudest.integers() * (smoothing.astype(np.float64) / UNIT_SMOOTHING)
        ones = np.ones(len(largest), np.float32)
        best, least = largest.astype(np.int16), np.full(len(largest), np.inf)
        for share in np.linspace(1, _LEAST, _CANDIDATES):
            c = np.maximum(largest * share, 1).astype(np.int16)
            step = column_scales(ones, unit if self.has_minimum else None, c).astype(np.float64)
            error = requantize(self.loudest, smoothing, unit, c) * step[:, None] - exact
            noise = np.square(error) @ loudness.squares + np.square(step) / 12 * loudness.rest
            better = noise < least
            best, least = np.where(better, c, best), np.where(better, noise, least)
        return best


def column_ranges(weights: PackedWeights, smoothing: I8, loudness: Loudness) -> ColumnRanges:
    """smoothing: s [K], padding included."""
    groups = loudness.channels // (weights.codes.shape[1] // weights.scales.shape[1])
    minimums = weights.minimums
    centers = (
        np.zeros(len(weights.factors)) if minimums is None else np.abs(minimums + CENTER * weights.scales).max(axis=1)
    )
    return ColumnRanges(
        scales=np.abs(weights.scales).max(axis=1).astype(np.float64),
        centers=centers.astype(np.float64),
        weights=np.abs(weights.integers() * smoothing.astype(np.int32)).max(axis=1).astype(np.float64),
        loudest=PackedWeights(
            weights.factors,
            weights.scales[:, groups],
            None if minimums is None else minimums[:, groups],
            weights.codes[:, loudness.channels],
        ),
        usable=minimums is None or not bool((weights.scales < 0).any()),
    )


def shared_unit(ranges: Sequence[ColumnRanges]) -> int:
    """u for all outputs that read an input; s u fits int16."""
    needed = np.concatenate([found.needed_unit for found in ranges])
    if not len(needed):
        return 1
    return int(np.clip(np.ceil(np.quantile(needed, _SHARE)), 1, _INT16_MAX // _INT8_MAX))
