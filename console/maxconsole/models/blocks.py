# SPDX-License-Identifier: Apache-2.0
"""Takes GGUF's quantized blocks apart: scales and codes in plain K order, vectorized over all rows given.

Block layouts: those of the GGUF format (ggml's `block_q4_0` and so on; the numbers below are byte offsets in a block).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from maxconsole.models.bits import U8, high_bits, low_bits, raised
from maxconsole.schema.image import GROUP

F32 = npt.NDArray[np.float32]
I8 = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Groups:
    """Weights with a scale per GROUP: w = scale * (code - zero of the format) + minimum."""

    scales: F32  # [rows][groups]
    minimums: F32 | None  # [rows][groups]
    codes: U8 | I8  # [rows][groups][GROUP]


@dataclass(frozen=True, slots=True)
class SuperGroups:
    """Weights with a float factor per 256 and small integer scales inside.

    Q4_K, Q5_K: w = scale * sub_scale * code - minimum * sub_minimum, a pair of them per GROUP.
    Q6_K: w = scale * sub_scale * (code - 32), one sub_scale per 16.
    """

    scales: F32  # [rows][blocks]
    minimums: F32 | None  # [rows][blocks]
    sub_scales: U8 | I8  # [rows][blocks][8 or 16]
    sub_minimums: U8 | None  # [rows][blocks][8]
    codes: U8  # [rows][groups][GROUP]


def read_groups(kind: GGMLQuantizationType, raw: U8) -> Groups:
    """The blocks of Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0 rows; `raw` is [rows][bytes of a row]."""
    return _GROUPS[kind](_blocks(kind, raw))


def read_super_groups(kind: GGMLQuantizationType, raw: U8) -> SuperGroups:
    """The blocks of Q4_K, Q5_K or Q6_K rows; `raw` is [rows][bytes of a row]."""
    return _SUPER_GROUPS[kind](_blocks(kind, raw))


def read_dense(kind: GGMLQuantizationType, raw: U8) -> F32:
    """F32, F16 or BF16 rows as float32 [rows][columns]."""
    if kind == GGMLQuantizationType.F32:
        return raw.view("<f4")
    if kind == GGMLQuantizationType.F16:
        return raw.view("<f2").astype(np.float32)
    wide = raw.view("<u2").astype(np.uint32)
    return (wide << 16).view(np.float32)


def _blocks(kind: GGMLQuantizationType, raw: U8) -> U8:
    size = GGML_QUANT_SIZES[kind][1]
    return raw.reshape(raw.shape[0], -1, size)


def _half(blocks: U8, at: int) -> F32:
    """The f16 at byte `at` of each block."""
    half = np.ascontiguousarray(blocks[..., at : at + 2]).view("<f2")[..., 0]
    return half.astype(np.float32)


def _nibbles(packed: U8) -> U8:
    """Low nibbles of the last axis, then its high nibbles."""
    return np.concatenate((low_bits(packed, 4), high_bits(packed, 4)), axis=-1)


def _fifth_bits(packed: U8) -> U8:
    """Bit k of a little-endian u32 as 16 or 0, for k = 0..31."""
    return raised(np.unpackbits(packed, axis=-1, bitorder="little"), 4)


def _q4_0(b: U8) -> Groups:
    return Groups(_half(b, 0), None, _nibbles(b[..., 2:18]))


def _q4_1(b: U8) -> Groups:
    return Groups(_half(b, 0), _half(b, 2), _nibbles(b[..., 4:20]))


def _q5_0(b: U8) -> Groups:
    return Groups(_half(b, 0), None, _nibbles(b[..., 6:22]) | _fifth_bits(b[..., 2:6]))


def _q5_1(b: U8) -> Groups:
    return Groups(_half(b, 0), _half(b, 2), _nibbles(b[..., 8:24]) | _fifth_bits(b[..., 4:8]))


def _q8_0(b: U8) -> Groups:
    return Groups(_half(b, 0), None, b[..., 2:34].view(np.int8))


def _six_bit_pairs(b: U8) -> tuple[U8, U8]:
    """Eight 6-bit scales and eight 6-bit minimums from the 12 bytes at offset 4 of Q4_K and Q5_K."""
    first, second, third = b[..., 4:8], b[..., 8:12], b[..., 12:16]
    upper_scales = low_bits(third, 4) | raised(high_bits(first, 6), 4)
    upper_minimums = high_bits(third, 4) | raised(high_bits(second, 6), 4)
    scales = np.concatenate((low_bits(first, 6), upper_scales), axis=-1)
    minimums = np.concatenate((low_bits(second, 6), upper_minimums), axis=-1)
    return scales, minimums


def _k_nibbles(packed: U8) -> U8:
    """128 bytes to 256 codes: 32 bytes hold two groups, one in the low nibbles and one in the high."""
    quarters = packed.reshape(*packed.shape[:-1], 4, GROUP)
    return _nibbles(quarters).reshape(packed.shape[0], -1, GROUP)


def _q4_k(b: U8) -> SuperGroups:
    return SuperGroups(_half(b, 0), _half(b, 2), *_six_bit_pairs(b), _k_nibbles(b[..., 16:144]))


def _q5_k(b: U8) -> SuperGroups:
    # Bit g of byte k is the fifth bit of weight k in group g.
    shifts = np.arange(8, dtype=np.uint8)[:, None]
    fifth = raised(low_bits(b[..., None, 16:48] >> shifts, 1), 4)
    codes = _k_nibbles(b[..., 48:176]) | fifth.reshape(b.shape[0], -1, GROUP)
    return SuperGroups(_half(b, 0), _half(b, 2), *_six_bit_pairs(b), codes)


def _q6_k(b: U8) -> SuperGroups:
    # Each half block: 64 bytes of nibbles, 32 bytes of bit pairs; groups 0..3 take the low nibbles of bytes 0..31 and
    # 32..63, then the high nibbles, and bits 0-1, 2-3, 4-5, 6-7 of the pairs.
    low = b[..., :128].reshape(*b.shape[:-1], 2, 64)
    nibbles = _nibbles(low).reshape(*b.shape[:-1], 2, 4, GROUP)
    shifts = np.array((0, 2, 4, 6), np.uint8)[:, None]
    pairs = low_bits(b[..., 128:192].reshape(*b.shape[:-1], 2, 1, GROUP) >> shifts, 2)
    codes = (nibbles | raised(pairs, 4)).reshape(b.shape[0], -1, GROUP)
    return SuperGroups(_half(b, 208), None, b[..., 192:208].view(np.int8), None, codes)


_GROUPS: Final[Mapping[GGMLQuantizationType, Callable[[U8], Groups]]] = {
    GGMLQuantizationType.Q4_0: _q4_0,
    GGMLQuantizationType.Q4_1: _q4_1,
    GGMLQuantizationType.Q5_0: _q5_0,
    GGMLQuantizationType.Q5_1: _q5_1,
    GGMLQuantizationType.Q8_0: _q8_0,
}
_SUPER_GROUPS: Final[Mapping[GGMLQuantizationType, Callable[[U8], SuperGroups]]] = {
    GGMLQuantizationType.Q4_K: _q4_k,
    GGMLQuantizationType.Q5_K: _q5_k,
    GGMLQuantizationType.Q6_K: _q6_k,
}
