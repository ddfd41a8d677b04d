# SPDX-License-Identifier: Apache-2.0
"""Static smoothing of matrix inputs for the int8 route (docs/numerics.md): which channel is divided by what.

Outliers of activations sit in few channels, the same for every token. Dividing channel k of a matrix input by a factor
and multiplying its weights by the same changes no product, and moves the difficulty from activations, which share a
scale per block, to weights, which have one of their own per output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from maxconsole.models.bits import U8
from maxconsole.models.blocks import F32
from maxconsole.models.formats import align, padded_inputs
from maxconsole.models.requantize import A_LIMIT, FRACTION_BITS, ColumnRanges, column_ranges
from maxconsole.models.unpack import unpack_panels
from maxconsole.schema.image import TensorEntry, TensorRole

I16 = npt.NDArray[np.int16]

#: the matrices of a layer by the input that they share
READERS: Final[Mapping[TensorRole, tuple[TensorRole, ...]]] = {
    TensorRole.ATTN_SMOOTHING: (TensorRole.ATTN_Q, TensorRole.ATTN_K, TensorRole.ATTN_V),
    TensorRole.ATTN_OUTPUT_SMOOTHING: (TensorRole.ATTN_OUTPUT,),
    TensorRole.FFN_SMOOTHING: (TensorRole.FFN_GATE, TensorRole.FFN_UP),
    TensorRole.FFN_DOWN_SMOOTHING: (TensorRole.FFN_DOWN,),
}

#: exponent of the activations' share; the weights' is 1 less this. Measured: docs/numerics.md
_ALPHA: Final = 0.4
#: a channel that the calibration text hardly uses counts as this share of the mean channel
_QUIET: Final = 1e-3
_INT16_MAX: Final = 32767
#: steps per octave that statistics of activations are rounded to
_STEPS: Final = 16


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Of one matrix input and the matrices that read it, in the order of READERS.

    factors [K] are 2^15 times what weights are multiplied with; activations are multiplied with `reciprocals` [K].
    multipliers [outputs]: c of docs/numerics.md.
    """

    factors: I16
    multipliers: I16

    @property
    def reciprocals(self) -> F32:
        """2^15 / factors; 0 for padding."""
        used = self.factors > 0
        return np.where(used, np.float32(1 << FRACTION_BITS) / np.where(used, self.factors, 1), 0).astype(np.float32)

    def packed(self) -> U8:
        """The tensor's bytes: reciprocals, factors, multipliers, each padded to a cache line."""
        parts = (self.reciprocals.astype("<f4"), self.factors.astype("<i2"), self.multipliers.astype("<i2"))
        lines = [np.pad(data.view(np.uint8), (0, align(data.nbytes) - data.nbytes)) for data in parts]
        return np.concatenate(lines)

    @classmethod
    def unpack(cls, data: U8, columns: int, rows: int) -> Self:
        """From the bytes of a tensor of `columns` channels and `rows` outputs."""
        padded = padded_inputs(columns)
        at = align(4 * padded)
        factors = data[at : at + 2 * padded].view("<i2")
        at += align(2 * padded)
        return cls(factors.astype(np.int16), data[at : at + 2 * rows].view("<i2").astype(np.int16))


def smoothing_bytes(columns: int, rows: int) -> int:
    """Bytes of a smoothing tensor."""
    padded = padded_inputs(columns)
    return align(4 * padded) + align(2 * padded) + align(2 * rows)


def smoothing_of(activations: F32, matrices: Sequence[tuple[TensorEntry, U8]]) -> Smoothing:
    """Smoothing of an input from its calibration (root mean square per channel) and its matrices' packed bytes."""
    squares = np.zeros(len(activations))
    outputs = 0
    for entry, data in matrices:
        for panels in unpack_panels(entry, data):
            squares += np.square(panels.dense()[:, : entry.columns]).sum(axis=0, dtype=np.float64)
        outputs += entry.rows
    shares = channel_shares(activations, np.sqrt(squares / outputs).astype(np.float32))
    ranges = [column_ranges(panels, shares) for entry, data in matrices for panels in unpack_panels(entry, data)]
    return integer_smoothing(shares, ranges)


def channel_shares(activations: F32, weights: F32) -> F32:
    """Factors [K] of at most 1: the quieter a channel and the larger its weights, the smaller.

    activations, weights: root mean squares per channel, of the calibration text and over all outputs that read it.
    """
    loud = np.where(np.isfinite(activations) & (activations > 0), activations, 0).astype(np.float64)
    if not loud.any():
        return np.ones(len(loud), np.float32)
    # BLAS libraries add in different orders: coarse steps make images of one file equal on all machines.
    steps = np.rint(np.log2(np.maximum(loud, _QUIET * loud.mean())) * _STEPS) / _STEPS
    heavy = weights.astype(np.float64)
    heavy = np.maximum(heavy, _QUIET * heavy.mean() or 1.0)
    shares = np.exp2(steps) ** _ALPHA / heavy ** (1 - _ALPHA)
    return np.asarray(shares / shares.max(), np.float32)


def integer_smoothing(shares: F32, ranges: Iterable[ColumnRanges]) -> Smoothing:
    """The integers that requantization multiplies with: factors and, for all outputs in order, multipliers.

    ranges: of the readers, for the same shares.
    """
    scales, weights, minimums = (
        np.concatenate(parts).astype(np.float64)
        for parts in zip(*((r.scales, r.weights, r.minimums) for r in ranges), strict=True)
    )
    used = weights > 0
    # As small as lets every output use all of int8 before its scales leave theirs.
    unit = A_LIMIT / 127 * float((scales[used] / weights[used]).max(initial=0.0)) * (1 << FRACTION_BITS)
    unit = min(max(unit, 1.0), float(_INT16_MAX))
    factors = np.maximum(np.rint(shares.astype(np.float64) * unit), 1)
    padded = np.zeros(padded_inputs(len(shares)), np.int16)
    padded[: len(shares)] = factors
    return Smoothing(padded, _multipliers(scales, weights, minimums, unit))


def _multipliers(
    scales: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], minimums: npt.NDArray[np.float64], unit: float
) -> I16:
    """The largest c with which scales, minimums and weights fit their integers; as large as int16 for empty outputs."""
    one = float(1 << FRACTION_BITS)
    with np.errstate(divide="ignore"):
        limits = (A_LIMIT * one / scales, 127 * one * one / (weights * unit), 16383 * one / minimums)
    return np.asarray(np.clip(np.minimum.reduce(limits), 1, _INT16_MAX), np.int16)
