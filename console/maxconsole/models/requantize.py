# SPDX-License-Identifier: Apache-2.0
"""The numpy twin of `firmware/kernels/requantize.h`: packed weights to int8 with one scale per output, in integers.

With di, mi and the codes q of a weight (docs/weight-image.md), c of its output and s of its channel:

    A = sat8(rdm(di, c))    B = rdm(sat16(mi + 8 di), c) - 8 A    t = q A + B    w8 = sat8(rdm(t, s))
    rdm(a, b) = (a b + 2^14) >> 15

so that w ~ E * w8 * 2^15 / s with E = D * 2^15 / c. Where a format has no minimum, B is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.models.blocks import F32, I8
from maxconsole.models.unpack import I32, PackedWeights

I16 = npt.NDArray[np.int16]

FRACTION_BITS: Final = 15
#: largest |A| that multipliers lead to
A_LIMIT: Final = 127
#: code at which a group's minimum is rounded: the middle of 4 bits, so that the error of A does not add up
_CENTER: Final = 8


@dataclass(frozen=True, slots=True)
class ColumnRanges:
    """Largest magnitudes per output, in units of D: of di, of smoothed weights, of mi + 8 di."""

    scales: F32
    weights: F32
    minimums: F32


def column_ranges(weights: PackedWeights, shares: F32) -> ColumnRanges:
    """shares [K]: what channels are multiplied with (`smoothing.channel_shares`)."""
    inputs = len(shares)
    integers = weights.integers()[:, :inputs]
    minimums = np.zeros(len(integers)) if weights.minimums is None else np.abs(_centers(weights)).max(axis=1)
    return ColumnRanges(
        scales=np.abs(weights.scales).max(axis=1).astype(np.float32),
        weights=(np.abs(integers) * shares).max(axis=1).astype(np.float32),
        minimums=minimums.astype(np.float32),
    )


def requantize(weights: PackedWeights, factors: I16, multipliers: I16) -> I8:
    """int8 weights [outputs][K], padding included. factors [K], multipliers [outputs]."""
    c = multipliers.astype(np.int32)[:, None]
    a = np.clip(_rdm(weights.scales, c), -128, 127)
    codes = weights.codes.reshape(*weights.scales.shape, -1)
    t = codes * a[..., None]
    if weights.minimums is not None:
        b = _rdm(np.clip(_centers(weights), -32768, 32767), c) - _CENTER * a
        t += np.clip(b, -32768, 32767)[..., None]
    wrapped = t.astype(np.int16).astype(np.int32).reshape(weights.codes.shape)
    return np.clip(_rdm(wrapped, factors.astype(np.int32)), -128, 127).astype(np.int8)


def column_scales(factors: F32, multipliers: I16) -> F32:
    """E [outputs] of the outputs' D."""
    return np.asarray(factors * (np.float32(1 << FRACTION_BITS) / multipliers.astype(np.float32)), np.float32)


def _centers(weights: PackedWeights) -> I32:
    assert weights.minimums is not None
    return weights.minimums + _CENTER * weights.scales


def _rdm(a: I32, b: I32) -> I32:
    """SQRDMULH of int16 values; never both are -32768 here."""
    return (a * b + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS
