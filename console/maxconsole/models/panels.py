# SPDX-License-Identifier: Apache-2.0
"""Lays codes and integer scales out as the panels that the kernels read (docs/weight-image.md).

Everything here is a permutation of whole arrays; nothing is rounded.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxconsole.models.bits import U8, high_bits, low_bits, raised
from maxconsole.models.blocks import I8
from maxconsole.models.formats import TRAILER_BYTES, PackFormat
from maxconsole.models.scales import IntegerScales
from maxconsole.schema.image import GROUP, PANEL_COLUMNS

_QUADS = PANEL_COLUMNS // 4  # column quads of a panel
_HALF = GROUP // 2


def pack_groups(pack: PackFormat, codes: U8 | I8, scales: IntegerScales) -> U8:
    """Panels of a format with scales per GROUP.

    codes [columns][groups][GROUP], scales [columns][groups]; columns a multiple of PANEL_COLUMNS, groups of the pack's.
    Returns [panels][panel bytes].
    """
    panels, groups = codes.shape[0] // PANEL_COLUMNS, codes.shape[1]
    packs = groups // pack.groups
    body = np.empty((panels, packs, pack.pack_bytes), np.uint8)
    code_bytes = pack.groups * pack.code_bytes
    body[..., :code_bytes] = _code_area(pack, codes).reshape(panels, packs, code_bytes)
    lines = [_scale_lines(scales.scales)]
    if scales.minimums is not None:
        lines.append(_scale_lines(scales.minimums))
    # For each group of the pack: di of the 16 columns, then mi where the format has it.
    ordered = np.stack(lines, axis=2).view(np.uint8)
    body[..., code_bytes:] = ordered.reshape(panels, packs, pack.scale_bytes)
    return _with_trailer(pack, body.reshape(panels, -1), scales, groups * GROUP)


def pack_super_groups(
    pack: PackFormat, codes: U8, scales: IntegerScales, sub_scales: U8 | I8, sub_minimums: U8 | None
) -> U8:
    """Panels of a K format.

    codes [columns][groups][GROUP], scales [columns][blocks], sub-scales [columns][blocks][8 or 16]; columns a multiple
    of PANEL_COLUMNS. Returns [panels][panel bytes].
    """
    panels, blocks = codes.shape[0] // PANEL_COLUMNS, scales.scales.shape[1]
    head = [_scale_lines(scales.scales).view(np.uint8)]
    if scales.minimums is not None:
        head.append(_scale_lines(scales.minimums).view(np.uint8))
    if sub_minimums is None:
        head.append(_sub_lines(sub_scales.view(np.uint8)))
    else:
        low, high = _split_six_bits(sub_scales.view(np.uint8), sub_minimums)
        head += [_sub_lines(low), _sub_lines(high)]
    area = _code_area(pack, codes).reshape(panels, blocks, -1)
    body = np.concatenate([*(part.reshape(panels, blocks, -1) for part in head), area], axis=2)
    return _with_trailer(pack, body.reshape(panels, -1), scales, codes.shape[1] * GROUP)


def _code_area(pack: PackFormat, codes: U8 | I8) -> U8:
    """[panels][groups][code bytes of a group]."""
    if pack.bits == 8:
        return _vectors(codes.view(np.uint8), GROUP // 4)
    unsigned = codes.view(np.uint8)
    low, high = unsigned[..., :_HALF], unsigned[..., _HALF:]
    area = [_vectors(low_bits(low, 4) | raised(high, 4), _HALF // 4)]
    if pack.bits == 5:
        area.append(_vectors(_fifth_bits(low, high), 1))
    elif pack.bits == 6:
        pairs = np.stack((_upper_pairs(low), _upper_pairs(high)), axis=2)
        area.append(_pair_vectors(pairs))
    return np.concatenate(area, axis=-1) if len(area) > 1 else area[0]


def _vectors(values: U8, quads: int) -> U8:
    """[columns][groups][4 * quads] to [panels][groups] runs of vector(c, j).

    Byte 4i + t of a vector belongs to column 4c + i and k = 4j + t.
    """
    columns, groups = values.shape[:2]
    words = np.ascontiguousarray(values).view(np.uint32).reshape(-1, _QUADS, 4, groups, quads)
    ordered = np.ascontiguousarray(words.transpose(0, 3, 1, 4, 2))
    return ordered.view(np.uint8).reshape(columns // PANEL_COLUMNS, groups, 4 * quads * PANEL_COLUMNS)


def _pair_vectors(pairs: U8) -> U8:
    """[columns][groups][2 halves][4] to [panels][groups] runs of H0[c], H1[c]."""
    columns, groups = pairs.shape[:2]
    words = np.ascontiguousarray(pairs).view(np.uint32).reshape(-1, _QUADS, 4, groups, 2)
    ordered = np.ascontiguousarray(words.transpose(0, 3, 1, 4, 2))
    return ordered.view(np.uint8).reshape(columns // PANEL_COLUMNS, groups, 8 * PANEL_COLUMNS)


def _fifth_bits(low: U8, high: U8) -> U8:
    """[..., 16] codes of each half to [..., 4]: bit j of byte t is bit 4 of low[4j + t], bit 4 + j that of high."""
    bits = low_bits(high_bits(np.concatenate((low, high), axis=-1), 4), 1)
    lanes = bits.reshape(*bits.shape[:-1], 8, 4)
    return np.packbits(lanes, axis=-2, bitorder="little")[..., 0, :]


def _upper_pairs(half: U8) -> U8:
    """[..., 16] codes to [..., 4]: bits 2j and 2j + 1 of byte t are bits 4 and 5 of code 4j + t."""
    lanes = high_bits(half, 4).reshape(*half.shape[:-1], 4, 4)
    moved = lanes << np.array((0, 2, 4, 6), np.uint8)[:, None]
    pairs: U8 = np.bitwise_or.reduce(moved, axis=-2)
    return pairs


def _scale_lines(values: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """[columns][groups] to [panels][groups][PANEL_COLUMNS]."""
    return np.ascontiguousarray(values.reshape(-1, PANEL_COLUMNS, values.shape[1]).transpose(0, 2, 1))


def _sub_lines(values: U8) -> U8:
    """[columns][blocks][n] to [panels][blocks][n][PANEL_COLUMNS]."""
    return np.ascontiguousarray(values.reshape(-1, PANEL_COLUMNS, *values.shape[1:]).transpose(0, 2, 3, 1))


def _split_six_bits(scales: U8, minimums: U8) -> tuple[U8, U8]:
    """Eight low nibble pairs, and four bytes with the upper two bits of two groups each."""
    low = low_bits(scales, 4) | raised(minimums, 4)
    upper = high_bits(scales, 4) | raised(high_bits(minimums, 4), 2)
    return low, upper[..., 0::2] | raised(upper[..., 1::2], 4)


def _with_trailer(pack: PackFormat, body: U8, scales: IntegerScales, depth: int) -> U8:
    panels = np.zeros((body.shape[0], pack.panel_bytes(depth)), np.uint8)
    panels[:, : body.shape[1]] = body
    factors = scales.factors.reshape(-1, PANEL_COLUMNS).astype("<f4")
    panels[:, body.shape[1] : body.shape[1] + TRAILER_BYTES] = factors.view(np.uint8)
    return panels
