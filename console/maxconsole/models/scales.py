# SPDX-License-Identifier: Apache-2.0
"""Turns a matrix's float scales into one f32 factor D per column and small integers, as the engine multiplies them.

"Column" is a column of the engine's matrix, one output: it is a row of the GGUF tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.models.blocks import F32, Groups, SuperGroups
from maxconsole.models.formats import MIN_LIMIT, PackFormat
from maxconsole.schema.image import GROUP, TensorFormat

I16 = npt.NDArray[np.int16]
F64 = npt.NDArray[np.float64]

#: by how much a sub-block scale is shifted down after it was multiplied by dk (mk)
SUB_SCALE_SHIFT: Final = {TensorFormat.Q4_K: 6, TensorFormat.Q5_K: 6, TensorFormat.Q6_K: 7}
_Q8_MAX: Final = 127
_SMALLEST_NORMAL: Final = float(np.finfo(np.float32).tiny)


class NotANumberError(ValueError):
    """The file holds an infinity or a NaN."""


@dataclass(frozen=True, slots=True)
class IntegerScales:
    """factors [columns] (D); scales and minimums [columns][groups] (di, mi), or [columns][blocks] (dk, mk)."""

    factors: F32
    scales: I16
    minimums: I16 | None


def group_scales(pack: PackFormat, groups: Groups) -> IntegerScales:
    """di and mi: |D * di - scale| <= D / 2, and the same for mi. Raises NotANumberError."""
    return _integers(groups.scales, groups.minimums, pack.scale_limit, 1)


def super_group_scales(pack: PackFormat, groups: SuperGroups) -> IntegerScales:
    """dk and mk, which carry SUB_SCALE_SHIFT fraction bits. Raises NotANumberError."""
    return _integers(groups.scales, groups.minimums, pack.scale_limit, 1 << SUB_SCALE_SHIFT[pack.format])


def quantize_dense(pack: PackFormat, dense: F32) -> tuple[IntegerScales, npt.NDArray[np.int8]]:
    """Float rows [columns][K], K a multiple of GROUP, as q8_0: error at most D * di / 2 for each weight.

    di is rounded up before the weights are divided by it, so that codes never exceed 127 and only one rounding happens.
    Raises NotANumberError.
    """
    grouped = dense.reshape(dense.shape[0], -1, GROUP)
    largest = np.maximum(grouped.max(axis=-1), -grouped.min(axis=-1)).astype(np.float64)
    factors = _factors(largest.max(axis=-1) / (_Q8_MAX * pack.scale_limit))
    inverse = _inverse(factors)
    steps = np.minimum(np.ceil(largest / _Q8_MAX * inverse), pack.scale_limit)
    reciprocal = np.where(steps > 0, inverse / np.maximum(steps, 1), 0).astype(np.float32)
    codes = np.rint(np.clip(grouped * reciprocal[..., None], -_Q8_MAX, _Q8_MAX)).astype(np.int8)
    return IntegerScales(factors, steps.astype(np.int16), None), codes


def _integers(scales: F32, minimums: F32 | None, limit: int, fraction: int) -> IntegerScales:
    needed = np.abs(scales).max(axis=-1).astype(np.float64) * fraction / limit
    if minimums is not None:
        needed = np.maximum(needed, np.abs(minimums).max(axis=-1).astype(np.float64) * fraction / MIN_LIMIT)
    factors = _factors(needed)
    per_unit = _inverse(factors) * fraction
    return IntegerScales(factors, _round(scales, per_unit), None if minimums is None else _round(minimums, per_unit))


def _factors(needed: F64) -> F32:
    """D as float32. What would be subnormal counts as zero: the engine flushes it, and no weight is that small."""
    if not np.isfinite(needed).all():
        raise NotANumberError
    return np.where(needed < _SMALLEST_NORMAL, 0, needed).astype(np.float32)


def _inverse(factors: F32) -> F64:
    """1/D [columns][1], and 0 where D is 0."""
    usable = factors > 0
    return np.where(usable, 1 / np.where(usable, factors, 1).astype(np.float64), 0)[:, None]


def _round(values: F32, per_unit: F64) -> I16:
    return np.rint(values * per_unit).astype(np.int16)
