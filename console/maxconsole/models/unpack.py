# SPDX-License-Identifier: Apache-2.0
"""Reads packed tensors back: the packer's inverse, and the numpy twin of what the kernels see of a weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.models.bits import U8, high_bits, low_bits, raised
from maxconsole.models.blocks import F32
from maxconsole.models.formats import FORMATS, TRAILER_BYTES, PackFormat
from maxconsole.models.scales import SUB_SCALE_SHIFT
from maxconsole.schema.image import GROUP, PANEL_COLUMNS, TensorEntry, TensorFormat

I32 = npt.NDArray[np.int32]

_LINE: Final = 2 * PANEL_COLUMNS  # bytes of an int16 per column
_CHUNK_WEIGHTS: Final = 1 << 21


@dataclass(frozen=True, slots=True)
class PackedWeights:
    """w = factors * (scales * codes + minimums), in the integers that the kernels multiply.

    factors [columns]; scales and minimums [columns][groups of 16 or 32]; codes [columns][K]. Padding included.
    """

    factors: F32
    scales: I32
    minimums: I32 | None
    codes: I32

    def integers(self) -> I32:
        """scales * codes + minimums [columns][K]."""
        grouped = self.codes.reshape(*self.scales.shape, -1) * self.scales[..., None]
        if self.minimums is not None:
            grouped += self.minimums[..., None]
        return grouped.reshape(self.codes.shape)

    def dense(self) -> F32:
        """float32 [columns][K]: the integer sum is exact in float32 (below 2^24), so one rounding happens."""
        return self.integers().astype(np.float32) * self.factors[:, None]


def unpack_tensor(entry: TensorEntry, data: U8) -> F32:
    """A tensor as float32: [rows][columns], or [rows] for a vector. `data` is its bytes in the image.

    Rows of attn_q and attn_k of the llama family come in the image's order (half-split rotary pairs).
    """
    if entry.format == TensorFormat.F32:
        return data.view("<f4")[: entry.rows].astype(np.float32)
    parts = [weights.dense()[:, : entry.columns] for weights in unpack_panels(entry, data)]
    return np.concatenate(parts)[: entry.rows]


def unpack_panels(entry: TensorEntry, data: U8) -> Iterator[PackedWeights]:
    """The matrix in runs of whole panels, a few MB at a time."""
    pack = FORMATS[TensorFormat(entry.format)]
    panels = data.reshape(-1, pack.panel_bytes(entry.columns))
    step = max(1, _CHUNK_WEIGHTS // (PANEL_COLUMNS * entry.columns))
    for start in range(0, len(panels), step):
        yield _unpack(pack, panels[start : start + step], pack.packs(entry.columns))


def _unpack(pack: PackFormat, panels: U8, packs: int) -> PackedWeights:
    end = packs * pack.pack_bytes
    body = np.ascontiguousarray(panels[:, :end]).reshape(len(panels), packs, pack.pack_bytes)
    trailer = np.ascontiguousarray(panels[:, end : end + TRAILER_BYTES])
    at = pack.scale_bytes if pack.depth > 2 * GROUP else 0  # K formats put their scales first
    area = body[..., at : at + pack.groups * pack.code_bytes].reshape(len(panels), -1, pack.code_bytes)
    codes = _codes(pack, area)
    if pack.format in SUB_SCALE_SHIFT:
        scales, minimums = _sub_scales(pack, body)
    else:
        lines = body[..., pack.groups * pack.code_bytes :].reshape(len(panels), -1, 2 if pack.has_min else 1, _LINE)
        scales = _by_column(_int16(lines[..., 0, :]))
        minimums = _by_column(_int16(lines[..., 1, :])) if pack.has_min else None
    return PackedWeights(trailer.view("<f4").reshape(-1).astype(np.float32), scales, minimums, codes)


def _codes(pack: PackFormat, area: U8) -> I32:
    """[panels][groups][bytes] to [columns][K]."""
    if pack.bits == 8:
        values = _from_vectors(area).view(np.int8).astype(np.int32)
    else:
        nibbles = _from_vectors(area[..., : GROUP // 2 * PANEL_COLUMNS])
        low, high = low_bits(nibbles, 4), high_bits(nibbles, 4)
        extra = area[..., GROUP // 2 * PANEL_COLUMNS :]
        if pack.bits == 5:
            bits = _from_vectors(extra)[..., None, :] >> np.arange(8, dtype=np.uint8)[:, None]
            fifth = raised(low_bits(bits, 1), 4).reshape(*low.shape[:2], GROUP)
            low, high = low | fifth[..., : GROUP // 2], high | fifth[..., GROUP // 2 :]
        elif pack.bits == 6:
            quads = extra.reshape(*extra.shape[:2], PANEL_COLUMNS // 4, 2, PANEL_COLUMNS)
            halves = (_from_vectors(quads[..., half, :].reshape(*extra.shape[:2], -1)) for half in (0, 1))
            low, high = (code | _upper_pairs(pairs) for code, pairs in zip((low, high), halves, strict=True))
        values = np.concatenate((low, high), axis=-1).astype(np.int32) - pack.zero
    return values.reshape(values.shape[0], -1)


def _from_vectors(area: U8) -> U8:
    """[panels][groups][runs of vector(c, j)] to [columns][groups][k]."""
    panels, groups, size = area.shape
    lanes = area.reshape(panels, groups, PANEL_COLUMNS // 4, size // (4 * PANEL_COLUMNS), 4, 4)
    # Axes: panel, group, column quad c, k quad j, column i, k offset t.
    return np.ascontiguousarray(lanes.transpose(0, 2, 4, 1, 3, 5)).reshape(panels * PANEL_COLUMNS, groups, -1)


def _upper_pairs(pairs: U8) -> U8:
    """[..., 4] bytes of H0 or H1 to bits 4 and 5 of 16 codes."""
    moved = low_bits(pairs[..., None, :] >> np.array((0, 2, 4, 6), np.uint8)[:, None], 2)
    return raised(moved, 4).reshape(*pairs.shape[:-1], GROUP // 2)


def _sub_scales(pack: PackFormat, body: U8) -> tuple[I32, I32 | None]:
    """di and mi of a K format: [columns][groups]."""
    shift = SUB_SCALE_SHIFT[pack.format]
    half = 1 << (shift - 1)
    dk = _by_column(_int16(body[..., :_LINE]))
    if not pack.has_min:
        scales = _by_column(_lines(body[..., _LINE : pack.scale_bytes]).view(np.int8))
        return (scales * _repeated(dk, scales) + half) >> shift, None
    mk = _by_column(_int16(body[..., _LINE : 2 * _LINE]))
    low = _lines(body[..., 2 * _LINE : 2 * _LINE + 8 * PANEL_COLUMNS])
    high = _lines(body[..., 2 * _LINE + 8 * PANEL_COLUMNS : pack.scale_bytes])
    # A byte of `high` serves two groups: bits 4 and 5 of scale and minimum of the even one, then of the odd one.
    pairs = np.stack((high, high_bits(high, 4)), axis=2).reshape(low.shape)
    scales = _by_column(low_bits(low, 4) | raised(low_bits(pairs, 2), 4))
    minimums = _by_column(high_bits(low, 4) | raised(low_bits(high_bits(pairs, 2), 2), 4))
    return (scales * _repeated(dk, scales) + half) >> shift, -((minimums * _repeated(mk, minimums) + half) >> shift)


def _lines(data: U8) -> U8:
    """[panels][packs][n * PANEL_COLUMNS] to [panels][packs * n][PANEL_COLUMNS]."""
    return np.ascontiguousarray(data).reshape(data.shape[0], -1, PANEL_COLUMNS)


def _int16(data: U8) -> npt.NDArray[np.int16]:
    return np.ascontiguousarray(data).view("<i2")


def _by_column(lines: npt.NDArray[np.integer]) -> I32:
    """[panels][n][PANEL_COLUMNS] to [columns][n]."""
    return lines.transpose(0, 2, 1).reshape(-1, lines.shape[1]).astype(np.int32)


def _repeated(per_block: I32, like: I32) -> I32:
    """A value per block for each of its sub-blocks."""
    return np.repeat(per_block, like.shape[1] // per_block.shape[1], axis=1)
