# SPDX-License-Identifier: Apache-2.0
"""Packs the tensors of a model file into the bytes of the weight image."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from maxconsole.errors import UserError
from maxconsole.models.bits import U8
from maxconsole.models.blocks import F32, I8, read_dense, read_groups, read_super_groups
from maxconsole.models.families import ModelTensor
from maxconsole.models.formats import PackFormat, matrix_format, vector_bytes
from maxconsole.models.panels import pack_groups, pack_super_groups
from maxconsole.models.reader import GgufFile
from maxconsole.models.scales import IntegerScales, NotANumberError, group_scales, quantize_dense, super_group_scales
from maxconsole.schema.image import PANEL_COLUMNS, TensorFormat

_CHUNK_WEIGHTS: Final = 1 << 21  # some 30 MB of working memory


def pack_tensor(file: GgufFile, tensor: ModelTensor) -> Iterator[U8]:
    """The tensor's bytes in the image, in pieces of at most a few MB.

    Raises UserError that names the tensor for a type that is not supported and for weights that are not numbers.
    """
    spec, info = tensor.spec, tensor.info
    raw = file.raw(info)
    if not spec.columns:
        yield _pack_vector(read_dense(info.type, raw)[0], file, spec.name)
        return
    pack = matrix_format(info.type, spec.name, file.path)
    order = half_split_order(spec.rows, spec.interleaved_heads) if spec.interleaved_heads else None
    for rows in chunk_rows(spec.rows, spec.columns):
        part = raw[rows] if order is None else raw[order[rows]]
        try:
            with np.errstate(invalid="ignore"):  # a damaged file's NaNs are refused below, without warnings before
                panels = _pack_rows(pack, tensor, part)
        except NotANumberError as error:
            raise _not_numbers(file, spec.name) from error
        yield panels


def half_split_order(rows: int, heads: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Source row of each packed row: within a head, row 2i goes to i and row 2i + 1 to head_dim / 2 + i."""
    return np.arange(rows).reshape(heads, -1, 2).transpose(0, 2, 1).reshape(-1)


def chunk_rows(rows: int, columns: int) -> Iterator[slice]:
    """Whole panels of about _CHUNK_WEIGHTS weights; the last slice ends with the rows."""
    step = max(1, _CHUNK_WEIGHTS // (columns * PANEL_COLUMNS)) * PANEL_COLUMNS
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _pack_rows(pack: PackFormat, tensor: ModelTensor, raw: U8) -> U8:
    kind = tensor.info.type
    if pack.format in (TensorFormat.Q4_K, TensorFormat.Q5_K, TensorFormat.Q6_K):
        blocks = read_super_groups(kind, _whole_panels(raw))
        scales = super_group_scales(pack, blocks)
        return pack_super_groups(pack, blocks.codes, scales, blocks.sub_scales, blocks.sub_minimums)
    if kind.name in ("F32", "F16", "BF16"):
        dense = read_dense(kind, _whole_panels(raw))
        scales, codes = quantize_dense(pack, dense)
        return pack_groups(pack, _whole_packs(pack, codes), _padded(pack, scales))
    groups = read_groups(kind, _whole_panels(raw))
    scales = group_scales(pack, groups)
    return pack_groups(pack, _whole_packs(pack, groups.codes), _padded(pack, scales))


def _pack_vector(values: F32, file: GgufFile, name: str) -> U8:
    if not np.isfinite(values).all():
        raise _not_numbers(file, name)
    packed = np.zeros(vector_bytes(values.size), np.uint8)
    packed[: 4 * values.size] = values.astype("<f4").view(np.uint8)
    return packed


def _whole_panels(raw: U8) -> U8:
    """Zero rows up to a multiple of PANEL_COLUMNS: their scales are zero in every type."""
    missing = -raw.shape[0] % PANEL_COLUMNS
    return np.pad(raw, ((0, missing), (0, 0))) if missing else np.ascontiguousarray(raw)


def _whole_packs(pack: PackFormat, codes: U8 | I8) -> U8:
    missing = -codes.shape[1] % pack.groups
    return np.pad(codes.view(np.uint8), ((0, 0), (0, missing), (0, 0))) if missing else codes.view(np.uint8)


def _padded(pack: PackFormat, scales: IntegerScales) -> IntegerScales:
    """Zero scales for the groups that fill the last pack."""
    missing = ((0, 0), (0, -scales.scales.shape[1] % pack.groups))
    if not missing[1][1]:
        return scales
    minimums = None if scales.minimums is None else np.pad(scales.minimums, missing)
    return IntegerScales(scales.factors, np.pad(scales.scales, missing), minimums)


def _not_numbers(file: GgufFile, name: str) -> UserError:
    return UserError(f"{file.path}: the tensor {name} holds weights that are not numbers", hint="the file is damaged")
