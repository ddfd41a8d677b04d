# SPDX-License-Identifier: Apache-2.0
"""The numpy twin of `firmware/kernels/requantize.h`: packed weights to int8 with one scale per output, in integers.

With di, mi and the code q of a weight (docs/weight-image.md), c of its output, s of its channel (1..127), u of its
matrix input and rdm(a, b) = (a b + 2^14) >> 15, the int8 weight w8 is

    without minimum   sat8(rdm(q s, rdm(8 di, c)))
    with minimum      sat8(rdm(q A + B, s u)) with A = satu8(rdm(di, c)), B = rdm(sat16(mi + 8 di), c) - 8 A

The weight is then E w8 128 / s, with E = D 2^20 / c without and D 2^23 / (c u) with minimum.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.models.blocks import F32, I8
from maxconsole.models.unpack import I32, PackedWeights

I16 = npt.NDArray[np.int16]

FRACTION_BITS: Final = 15
#: of a channel whose weights would be multiplied with 1; factors are smaller
UNIT_SMOOTHING: Final = 128
#: largest A
A_LIMIT: Final = 255
#: code at which a group's minimum is rounded: the middle of 4 bits, so that the error of A does not add up
CENTER: Final = 8
_INT16_MAX: Final = 32767


def requantize(weights: PackedWeights, smoothing: I8, unit: int, multipliers: I16) -> I8:
    """int8 weights [outputs][K], padding included. smoothing [K], multipliers [outputs]."""
    c = multipliers.astype(np.int32)[:, None]
    s = smoothing.astype(np.int32)
    grouped = (*weights.scales.shape, -1)
    if weights.minimums is None:
        scales = rounded_product(8 * weights.scales, c)[..., None]
        wide = rounded_product((weights.codes * s).reshape(grouped), scales).reshape(weights.codes.shape)
    else:
        a = np.clip(rounded_product(weights.scales, c), 0, A_LIMIT)
        center = np.clip(weights.minimums + CENTER * weights.scales, -_INT16_MAX - 1, _INT16_MAX)
        b = rounded_product(center, c) - CENTER * a
        t = (weights.codes.reshape(grouped) * a[..., None] + b[..., None]).reshape(weights.codes.shape)
        wide = rounded_product(t, s * unit)
    return np.clip(wide, -128, 127).astype(np.int8)


def column_scales(factors: F32, unit: int | None, multipliers: I16) -> F32:
    """E [outputs] from D; 0 where there is no int8 form. unit: None for formats without a minimum."""
    c = np.maximum(multipliers, 1).astype(np.float64)
    per_multiplier = float(1 << 20) if unit is None else (1 << 23) / unit
    return np.where(multipliers > 0, factors * per_multiplier / c, 0).astype(np.float32)


def rounded_product(a: I32, b: I32) -> I32:
    """rdm: SQRDMULH of int16 values."""
    return (a * b + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS
