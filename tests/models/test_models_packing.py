# SPDX-License-Identifier: Apache-2.0
"""Packed weights against the package gguf's own dequantization, and against docs/weight-image.md byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf_files
import numpy as np
import numpy.typing as npt
import pytest
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize
from hypothesis import given, settings
from hypothesis import strategies as st

from maxconsole.errors import UserError
from maxconsole.models.families import ModelTensor, TensorSpec
from maxconsole.models.formats import FORMATS, matrix_format
from maxconsole.models.pack import half_split_order, pack_tensor
from maxconsole.models.reader import GgufFile, TensorInfo
from maxconsole.models.unpack import unpack_panels, unpack_tensor
from maxconsole.schema.image import TensorEntry, TensorFormat, TensorRole

Q = GGMLQuantizationType
LEGACY = (Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0)
K_TYPES = (Q.Q4_K, Q.Q5_K, Q.Q6_K)
DENSE = (Q.F32, Q.F16, Q.BF16)
TYPES = (*LEGACY, *K_TYPES, *DENSE)
#: the error in units of D that docs/weight-image.md states for codes kept as they are
BOUND = {Q.Q4_0: 4, Q.Q4_1: 8, Q.Q5_0: 8, Q.Q5_1: 16, Q.Q8_0: 64, Q.Q4_K: 16, Q.Q5_K: 32, Q.Q6_K: 32}
GGUF_BITS = {Q.Q4_0: 4.5, Q.Q4_1: 5, Q.Q5_0: 5.5, Q.Q5_1: 6, Q.Q8_0: 8.5, Q.Q4_K: 4.5, Q.Q5_K: 5.5, Q.Q6_K: 6.5625}
U8 = npt.NDArray[np.uint8]


class MemoryFile:
    """Stands where pack_tensor wants a file: one tensor's rows."""

    path = Path("memory.gguf")

    def __init__(self, rows: U8) -> None:
        self._rows = rows

    def raw(self, info: TensorInfo) -> U8:
        del info
        return self._rows


def packed(kind: Q, raw: U8, columns: int, interleaved_heads: int = 0) -> tuple[TensorEntry, U8]:
    rows = raw.shape[0]
    spec = TensorSpec(TensorRole.FFN_UP, 0, "w", rows, columns, interleaved_heads)
    file: Any = MemoryFile(raw)
    checked: GgufFile = file
    data = np.concatenate(
        list(pack_tensor(checked, ModelTensor(spec, TensorInfo("w", kind, spec.shape, 0, raw.size)))), 0
    )
    pack = matrix_format(kind, "w", MemoryFile.path)
    entry = TensorEntry(
        role=spec.role, layer=0, format=pack.format, rows=rows, columns=columns, offset=0, bytes=data.size
    )
    assert data.size == pack.tensor_bytes(rows, columns)
    return entry, data.reshape(-1)


def factors(entry: TensorEntry, data: U8) -> npt.NDArray[np.float32]:
    return np.concatenate([weights.factors for weights in unpack_panels(entry, data)])[: entry.rows]


def dense(kind: Q, raw: U8) -> npt.NDArray[np.float64]:
    return np.asarray(dequantize(raw, kind), np.float64)


@settings(max_examples=8, deadline=None)
@given(rows=st.integers(1, 50), packs=st.integers(1, 5), seed=st.integers(0, 1 << 30))
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_unpacked_weights_are_the_files_within_the_stated_bound(kind: Q, rows: int, packs: int, seed: int) -> None:
    columns = packs * (256 if kind in K_TYPES else 32)
    raw = gguf_files.random_rows(kind, rows, columns, seed)
    entry, data = packed(kind, raw, columns)
    expected, got = dense(kind, raw), unpack_tensor(entry, data).astype(np.float64)
    factor = factors(entry, data)[:, None].astype(np.float64)
    if kind in DENSE:
        largest = np.abs(expected).reshape(rows, -1, 32).max(axis=2).repeat(32, axis=1)
        bound = largest / 254 + factor / 2
    else:
        bound = np.broadcast_to(BOUND[kind] * factor, expected.shape)
    slack = 1e-6 * np.abs(expected).max(axis=1, keepdims=True)  # D itself is rounded to float32
    assert (np.abs(got - expected) <= bound + slack).all()


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_integer_scales_cost_a_thousandth_at_most_and_eight_bits_for_floats_a_hundredth(kind: Q) -> None:
    raw = gguf_files.random_rows(kind, 64, 512)
    entry, data = packed(kind, raw, 512)
    expected, got = dense(kind, raw), unpack_tensor(entry, data)
    error = np.sqrt(np.square(got - expected).sum() / np.square(expected).sum())
    assert error < (0.01 if kind in DENSE else 0.001)


@pytest.mark.parametrize("kind", [*LEGACY, *K_TYPES], ids=lambda kind: kind.name)
def test_bits_per_weight_are_those_of_the_file_and_a_factor_per_output(kind: Q) -> None:
    pack = matrix_format(kind, "w", MemoryFile.path)
    for rows, columns in ((576, 1536), (2048, 8192)):
        bits = pack.tensor_bytes(rows, columns) * 8 / (rows * columns)
        assert GGUF_BITS[kind] < bits <= GGUF_BITS[kind] + (32 + 63 * 8 / 16) / columns


@pytest.mark.parametrize("kind", [*LEGACY, *K_TYPES], ids=lambda kind: kind.name)
def test_every_byte_lies_where_the_document_says(kind: Q) -> None:
    rows, columns = 32, 512
    raw = gguf_files.random_rows(kind, rows, columns, seed=7)
    entry, data = packed(kind, raw, columns)
    weights = unpack_tensor(entry, data)
    random = np.random.default_rng(1)
    for n, k in zip(random.integers(0, rows, 400).tolist(), random.integers(0, columns, 400).tolist(), strict=True):
        assert documented_weight(TensorFormat(entry.format), data, columns, n, k) == weights[n, k]


def documented_weight(packed_as: TensorFormat, data: U8, columns: int, n: int, k: int) -> np.float32:
    """One weight read with nothing but plain arithmetic on docs/weight-image.md."""
    depth, pack_bytes = {
        TensorFormat.Q4_0: (64, 576),
        TensorFormat.Q4_1: (64, 640),
        TensorFormat.Q5_0: (64, 704),
        TensorFormat.Q5_1: (64, 768),
        TensorFormat.Q8_0: (64, 1088),
        TensorFormat.Q4_K: (256, 2304),
        TensorFormat.Q5_K: (256, 2816),
        TensorFormat.Q6_K: (256, 3360),
    }[packed_as]
    packs = -(-columns // depth)
    panel_bytes = -(-(packs * pack_bytes + 64) // 64) * 64
    panel = data[n // 16 * panel_bytes :][:panel_bytes].tobytes()
    pack = panel[k // depth * pack_bytes :][:pack_bytes]
    factor = np.frombuffer(panel, "<f4", 16, packs * pack_bytes)[n % 16]
    column, group, place = n % 16, k % depth // 32, k % 32
    c, i, j, t = column // 4, column % 4, place % 16 // 4, place % 4
    name = packed_as.name

    def int16(at: int) -> int:
        return int.from_bytes(pack[at : at + 2], "little", signed=True)

    minimum = 0
    if name == "Q8_0":
        value = pack[group * 512 + c * 128 + place // 4 * 16 + 4 * i + t]
        code = value - 256 if value > 127 else value
        scale = int16(1024 + group * 32 + 2 * column)
    else:
        start, size = {"4": (0, 256), "5": (0, 320), "6": (288, 384)}[name[1]]
        if name in ("Q4_K", "Q5_K"):
            start = 256
        area = pack[start + group * size :][:size]
        byte = area[c * 64 + j * 16 + 4 * i + t]
        code = byte >> 4 if place >= 16 else byte & 15
        if name[1] == "5":
            code |= (area[256 + c * 16 + 4 * i + t] >> (j + 4 * (place >= 16)) & 1) << 4
        if name[1] == "6":
            code |= (area[256 + c * 32 + 16 * (place >= 16) + 4 * i + t] >> 2 * j & 3) << 4
        code -= {"Q4_0": 8, "Q5_0": 16, "Q6_K": 32}.get(name, 0)
        if name in ("Q4_0", "Q5_0"):
            scale = int16(2 * size + group * 32 + 2 * column)
        elif name in ("Q4_1", "Q5_1"):
            scale = int16(2 * size + group * 64 + 2 * column)
            minimum = int16(2 * size + group * 64 + 32 + 2 * column)
        elif name == "Q6_K":
            sub = pack[32 + k % 256 // 16 * 16 + column]
            scale = ((sub - 256 if sub > 127 else sub) * int16(2 * column) + 64) >> 7
        else:
            low = pack[64 + group * 16 + column]
            high = pack[192 + group // 2 * 16 + column] >> 4 * (group % 2)
            scale = ((low & 15 | (high & 3) << 4) * int16(2 * column) + 32) >> 6
            minimum = -(((low >> 4 | (high >> 2 & 3) << 4) * int16(32 + 2 * column) + 32) >> 6)
    return np.float32(scale * code + minimum) * factor


def test_padding_has_zero_scales() -> None:
    raw = gguf_files.random_rows(Q.Q4_1, 5, 96)
    entry, data = packed(Q.Q4_1, raw, 96)
    (weights,) = unpack_panels(entry, data)
    assert weights.codes.shape == (16, 128)
    assert not weights.scales[:, 3].any()
    assert weights.minimums is not None
    assert not weights.minimums[:, 3].any()
    assert not weights.dense()[5:].any()


@pytest.mark.parametrize("kind", LEGACY[:4] + K_TYPES, ids=lambda kind: kind.name)
def test_integer_scales_stay_within_what_int32_sums_allow(kind: Q) -> None:
    raw = gguf_files.random_rows(kind, 48, 512, seed=3)
    entry, data = packed(kind, raw, 512)
    for weights in unpack_panels(entry, data):
        assert np.abs(weights.scales).max() <= 4095
        assert weights.minimums is None or np.abs(weights.minimums).max() <= 32767


def test_a_column_of_zeros_and_one_of_tiny_weights_pack_as_zeros() -> None:
    rows = np.zeros((2, 64), np.float32)
    rows[1] = 1e-36
    entry, data = packed(Q.F32, rows.view(np.uint8), 64)
    assert not unpack_tensor(entry, data).any()
    assert not factors(entry, data).any()


def test_the_largest_float32_weights_pack() -> None:
    rows = np.full((1, 64), np.finfo(np.float32).max, np.float32)
    entry, data = packed(Q.F32, rows.view(np.uint8), 64)
    assert np.allclose(unpack_tensor(entry, data).astype(np.float64), rows.astype(np.float64), rtol=1e-3)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("kind", [Q.F32, Q.Q4_1, Q.Q6_K], ids=lambda kind: kind.name)
def test_weights_that_are_no_numbers_are_refused_by_name(kind: Q, bad: float) -> None:
    raw = gguf_files.random_rows(kind, 4, 256)
    at = {Q.F32: 0, Q.Q4_1: 2, Q.Q6_K: 208}[kind]
    raw[2, at : at + (4 if kind == Q.F32 else 2)] = np.array([bad], "<f4" if kind == Q.F32 else "<f2").view(np.uint8)
    with pytest.raises(UserError, match="tensor w holds weights that are not numbers"):
        packed(kind, raw, 256)


def test_interleaved_rotary_rows_become_half_split() -> None:
    raw = gguf_files.random_rows(Q.Q8_0, 16, 64)
    entry, data = packed(Q.Q8_0, raw, 64, interleaved_heads=2)
    straight_entry, straight = packed(Q.Q8_0, raw, 64)
    assert half_split_order(16, 2).tolist() == [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]
    assert (unpack_tensor(entry, data) == unpack_tensor(straight_entry, straight)[half_split_order(16, 2)]).all()


def test_a_matrix_of_many_chunks_packs_like_its_parts() -> None:
    raw = gguf_files.random_rows(Q.Q4_0, 2064, 1024)
    whole = packed(Q.Q4_0, raw, 1024)[1]
    size = FORMATS[TensorFormat.Q4_0].panel_bytes(1024)
    for panel in (0, 127, 128):
        part = packed(Q.Q4_0, raw[16 * panel : 16 * panel + 16], 1024)[1]
        assert (whole[panel * size : (panel + 1) * size] == part).all()
