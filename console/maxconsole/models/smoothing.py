# SPDX-License-Identifier: Apache-2.0
"""Static smoothing of matrix inputs for the int8 route (docs/numerics.md): which channel is divided by what.

Outliers of activations sit in few channels, the same for every token. Dividing channel k of a matrix input by a factor
and multiplying its weights by the same changes no product, and moves the difficulty from activations, which share a
scale per block, to weights, which have one of their own per output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from maxconsole.models.bits import U8
from maxconsole.models.blocks import F32, I8
from maxconsole.models.formats import align, padded_inputs
from maxconsole.models.multipliers import ColumnRanges, Loudness, column_ranges, shared_unit
from maxconsole.models.requantize import UNIT_SMOOTHING, column_scales
from maxconsole.models.unpack import unpack_panels
from maxconsole.schema.image import TensorEntry, TensorRole

I16 = npt.NDArray[np.int16]
F64 = npt.NDArray[np.float64]

#: the matrices of a layer by the input that they share
READERS: Final[Mapping[TensorRole, tuple[TensorRole, ...]]] = {
    TensorRole.ATTN_SMOOTHING: (TensorRole.ATTN_Q, TensorRole.ATTN_K, TensorRole.ATTN_V),
    TensorRole.ATTN_OUTPUT_SMOOTHING: (TensorRole.ATTN_OUTPUT,),
    TensorRole.FFN_SMOOTHING: (TensorRole.FFN_GATE, TensorRole.FFN_UP),
    TensorRole.FFN_DOWN_SMOOTHING: (TensorRole.FFN_DOWN,),
}

#: exponents of the activations' share; the weights' is 1 less this. Measured: docs/numerics.md
_ALPHA: Final[Mapping[TensorRole, float]] = {
    TensorRole.ATTN_SMOOTHING: 0.5,
    TensorRole.ATTN_OUTPUT_SMOOTHING: 0.3,
    TensorRole.FFN_SMOOTHING: 0.4,
    TensorRole.FFN_DOWN_SMOOTHING: 0.3,
}
#: a channel that the calibration text hardly uses counts as this share of the mean channel
_QUIET: Final = 1e-3
_LARGEST: Final = UNIT_SMOOTHING - 1
#: steps per octave that statistics of activations are rounded to
_STEPS: Final = 16


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Of one matrix input and the matrices that read it, in the order of READERS. Names as in `models.requantize`.

    factors [K]: s, 0 for padding; unit: u; multipliers and scales [outputs]: c and E, 0 without an int8 form.
    """

    factors: I8
    unit: int
    multipliers: I16
    scales: F32

    @property
    def reciprocals(self) -> F32:
        """What activations are multiplied with [K]: 128 / s; 0 for padding."""
        used = self.factors > 0
        return np.where(used, UNIT_SMOOTHING / np.where(used, self.factors, 1), 0).astype(np.float32)

    def packed(self) -> U8:
        """The tensor's bytes (docs/weight-image.md)."""
        products = self.factors.astype(np.int32) * self.unit
        parts = (
            self.reciprocals.astype("<f4"),
            products.astype("<i2"),
            self.factors,
            self.scales.astype("<f4"),
            self.multipliers.astype("<i2"),
        )
        lines = [np.pad(data.view(np.uint8), (0, align(data.nbytes) - data.nbytes)) for data in parts]
        return np.concatenate(lines)

    @classmethod
    def unpack(cls, data: U8, columns: int, rows: int) -> Self:
        """From the bytes of a tensor of `columns` channels and `rows` outputs."""
        padded = padded_inputs(columns)
        at = align(4 * padded)
        products = data[at : at + 2 * padded].view("<i2")
        at += align(2 * padded)
        factors = data[at : at + padded].view(np.int8)
        at += align(padded)
        scales = data[at : at + 4 * rows].view("<f4")
        at += align(4 * rows)
        multipliers = data[at : at + 2 * rows].view("<i2")
        unit = int(products[0]) // int(factors[0])
        return cls(factors.copy(), unit, multipliers.astype(np.int16), scales.astype(np.float32))


def smoothing_bytes(columns: int, rows: int) -> int:
    """Bytes of a smoothing tensor."""
    padded = padded_inputs(columns)
    return align(4 * padded) + align(2 * padded) + align(padded) + align(4 * rows) + align(2 * rows)


def smoothing_of(role: TensorRole, activations: F32, matrices: Sequence[tuple[TensorEntry, U8]]) -> Smoothing:
    """Smoothing of an input from how loud its channels are (`calibration`) and the packed bytes of its matrices."""
    columns = len(activations)
    loud = _rounded(activations)
    squares = np.zeros(columns)
    for entry, data in matrices:
        for panels in unpack_panels(entry, data):
            squares += np.square(panels.dense()[:, :columns]).sum(axis=0, dtype=np.float64)
    factors = np.zeros(padded_inputs(columns), np.int8)
    factors[:columns] = _integer_factors(loud, np.sqrt(squares), _ALPHA[role])
    found = [_ranges(entry, data, factors) for entry, data in matrices]
    unit = shared_unit([ranges for ranges, _ in found])
    loudness = Loudness.of(loud, factors)
    multipliers = [ranges.multipliers(unit, loudness) for ranges, _ in found]
    scales = [
        column_scales(d, unit if ranges.minimums is not None else None, c)
        for (ranges, d), c in zip(found, multipliers, strict=True)
    ]
    return Smoothing(factors, unit, np.concatenate(multipliers), np.concatenate(scales))


def _ranges(entry: TensorEntry, data: U8, factors: I8) -> tuple[ColumnRanges, F32]:
    """Ranges and D of a whole matrix."""
    parts = [(column_ranges(panels, factors), panels.factors) for panels in unpack_panels(entry, data)]
    return ColumnRanges.joined([ranges for ranges, _ in parts]), np.concatenate([d for _, d in parts])


def _rounded(activations: F32) -> F64:
    """The same [K], all positive. BLAS libraries add in different orders: coarse steps make images of one file
    equal on all machines.
    """
    loud = np.where(np.isfinite(activations) & (activations > 0), activations, 0).astype(np.float64)
    least = _QUIET * loud.mean() or 1.0
    return np.asarray(np.exp2(np.rint(np.log2(np.maximum(loud, least)) * _STEPS) / _STEPS), np.float64)


def _integer_factors(activations: F64, weights: F64, alpha: float) -> F64:
    """s [K] in 1..127: the quieter a channel and the larger its weights, the smaller.

    weights: root of the sum of squares of each channel's.
    """
    heavy = np.maximum(weights, _QUIET * weights.mean() or 1.0)
    shares = activations**alpha / heavy ** (1 - alpha)
    return np.asarray(np.maximum(np.rint(_LARGEST * shares / shares.max()), 1), np.float64)
