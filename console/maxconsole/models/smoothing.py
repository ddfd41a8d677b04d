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
from maxconsole.models.multipliers import Loudness, column_ranges, shared_unit
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

#: exponent of the activations' share in the start; the weights' is 1 less this. Measured: docs/numerics.md
_ALPHA: Final = 0.4
#: where balancing starts, and its steps
_BALANCE_ALPHA: Final = 0.3
_BALANCE_STEPS: Final = 12
_FLOOR: Final = 1e-5
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


def smoothing_of(activations: F32, matrices: Sequence[tuple[TensorEntry, U8]]) -> Smoothing:
    """Smoothing of an input from how loud its channels are (`calibration`) and the packed bytes of its matrices."""
    columns = len(activations)
    loud = _rounded(activations)
    dense = [
        np.concatenate([panels.dense()[:, :columns] for panels in unpack_panels(entry, data)])
        for entry, data in matrices
    ]
    factors = np.zeros(padded_inputs(columns), np.int8)
    factors[:columns] = _integer_factors(loud, dense)
    loudness = Loudness.of(loud, factors)
    found = [
        [(column_ranges(panels, factors, loudness), panels.factors) for panels in unpack_panels(entry, data)]
        for entry, data in matrices
    ]
    unit = shared_unit([ranges for parts in found for ranges, _ in parts])
    multipliers: list[I16] = []
    scales: list[F32] = []
    for parts in found:
        usable = all(ranges.usable for ranges, _ in parts)
        for ranges, d in parts:
            c = ranges.multipliers(unit, loudness, factors) * np.int16(usable)
            multipliers.append(c)
            scales.append(column_scales(d, unit if ranges.has_minimum else None, c))
    return Smoothing(factors, unit, np.concatenate(multipliers), np.concatenate(scales))


def _rounded(activations: F32) -> F64:
    """The same [K], all positive. BLAS libraries add in different orders: coarse steps make images of one file
    equal on all machines.
    """
    loud = np.where(np.isfinite(activations) & (activations > 0), activations, 0).astype(np.float64)
    least = _QUIET * loud.mean() or 1.0
    return np.asarray(np.exp2(np.rint(np.log2(np.maximum(loud, least)) * _STEPS) / _STEPS), np.float64)


def _integer_factors(loud: F64, matrices: Sequence[F32]) -> F64:
    """s [K] in 1..127: the quieter a channel and the larger its weights, the smaller.

    Two answers in equal parts: what suits activations, loudness^a / weight^(1 - a) in root mean squares, and what suits
    weights, which must share one scale per output.
    """
    heavy = np.sqrt(sum(np.square(weights).sum(axis=0, dtype=np.float64) for weights in matrices))
    heavy = np.maximum(heavy, _QUIET * heavy.mean() or 1.0)
    start = loud**_BALANCE_ALPHA / heavy ** (1 - _BALANCE_ALPHA)
    even = loud**_ALPHA / heavy ** (1 - _ALPHA)
    shares = np.sqrt(even / even.max() * _balanced(loud, matrices, start))
    return np.asarray(np.maximum(np.rint(_LARGEST * shares / shares.max()), 1), np.float64)


def _balanced(loud: F64, matrices: Sequence[F32], start: F64) -> F64:
    """Factors of at most 1 that make the rounding of weights small: the sum over outputs of the squared scale, times
    the sum over channels of (loud / s)^2. At its minimum a channel has the same share in both sums: of the scales,
    those of the outputs whose largest weight it holds.
    """
    sizes = [np.abs(weights) + np.float32(np.finfo(np.float32).tiny) for weights in matrices]
    exponents = np.log(start / start.max())
    for step in range(_BALANCE_STEPS):
        factors = np.exp(exponents)
        holds = np.full(len(loud), _FLOOR)
        for size in sizes:
            smoothed = size * factors.astype(np.float32)
            scales = smoothed.max(axis=1, keepdims=True)
            smoothed /= scales
            for _ in range(3):  # the eighth power: nearly the largest alone, but smooth
                np.square(smoothed, out=smoothed)
            weight = np.square(scales[:, 0], dtype=np.float64)
            weight /= smoothed.sum(axis=1) * max(weight.sum(), np.finfo(np.float64).tiny)
            holds += weight @ smoothed / len(sizes)
        rounding = np.square(loud / factors)
        exponents -= 0.15 * 0.92**step * np.log(holds / (rounding / rounding.sum() + _FLOOR))
        exponents -= exponents.max()
    return np.asarray(np.exp(exponents), np.float64)
