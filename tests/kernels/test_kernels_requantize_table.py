# SPDX-License-Identifier: Apache-2.0
"""Requantization by tables: the C reference equals its definition, and how far it is from the weights of the file."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import kernel_library as kl
import numpy as np
import numpy.typing as npt
import pytest
from gentle_models import write_gentle_model
from gguf.constants import GGMLQuantizationType as Q

from maxconsole.models import demo
from maxconsole.models.layout import lay_out
from maxconsole.models.pack import pack_tensor
from maxconsole.models.reader import open_gguf
from maxconsole.models.requantize import rounded_product
from maxconsole.models.unpack import PackedWeights, unpack_panels
from maxconsole.schema.image import TensorEntry, TensorFormat, TensorRole

I16 = npt.NDArray[np.int16]
F64 = npt.NDArray[np.float64]
U8 = npt.NDArray[np.uint8]
BLOCK = (TensorRole.ATTN_Q, TensorRole.ATTN_OUTPUT, TensorRole.FFN_UP, TensorRole.FFN_DOWN)
ONE = 2.0**23
#: Before any test points the cache elsewhere.
DEMO = demo.demo_path()


def matrices(path: Path) -> Iterator[tuple[TensorEntry, U8]]:
    """Four matrices of the first layer, packed."""
    file = open_gguf(path)
    layout = lay_out(file)
    for tensor, entry in zip(layout.tensors, layout.entries, strict=False):  # entries of smoothing come last
        if entry.role in BLOCK and entry.layer == 0:
            assert entry.format == TensorFormat.Q4_1
            yield entry, np.concatenate([piece.reshape(-1) for piece in pack_tensor(file, tensor)])


def multipliers(weights: PackedWeights) -> I16:
    """c [columns] of requantize_table.h."""
    largest = np.maximum(np.abs(weights.integers()).max(axis=1), 1)
    return np.asarray(np.minimum(127 * ONE / largest, 32767), np.float64).astype(np.int16)


def tables(weights: PackedWeights, c: I16) -> npt.NDArray[np.int8]:
    """Entries [columns][groups][16], from their definition."""
    wide = c.astype(np.int32)[:, None]
    scales, minimums = rounded_product(weights.scales, wide), rounded_product(minimums_of(weights), wide)
    entries = minimums[..., None] + 128 + np.arange(16) * scales[..., None]
    return (entries.astype(np.int16) >> 8).astype(np.int8)


def minimums_of(weights: PackedWeights) -> npt.NDArray[np.int32]:
    assert weights.minimums is not None
    return weights.minimums


def look_up(weights: PackedWeights, entries: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """int8 weights [columns][K]."""
    codes = weights.codes.reshape(*weights.scales.shape, -1)
    return np.take_along_axis(entries, codes, axis=2).reshape(weights.codes.shape)


def test_the_reference_is_its_definition(library: ctypes.CDLL, tmp_path: Path) -> None:
    for entry, data in matrices(write_gentle_model(tmp_path / "m.gguf", matrix=Q.Q4_1, hidden=128, ffn=160)):
        panels = data.reshape(entry.rows // 16, -1)
        [weights] = unpack_panels(entry, data)
        c = multipliers(weights)
        expected = look_up(weights, tables(weights, c))
        k = weights.codes.shape[1]
        got = np.empty(16 * k, np.int8)
        for index, panel in enumerate(panels):
            packs, mine = np.ascontiguousarray(panel), np.ascontiguousarray(c[16 * index : 16 * index + 16])
            library.reference_requantize_table_q4_1(
                *(ctypes.c_void_p(kl.address(array)) for array in (packs, got)),
                ctypes.c_uint64(k),
                ctypes.c_void_p(kl.address(mine)),
            )
            plain = got.reshape(2, k // 4, 8, 4).transpose(0, 2, 1, 3).reshape(16, k)
            np.testing.assert_array_equal(plain, expected[16 * index : 16 * index + 16])


@pytest.fixture(scope="module")
def real() -> list[PackedWeights]:
    """Real weights, without padding: K of the demo model is a multiple of 64."""
    if not DEMO.is_file():
        pytest.skip("the demo model is not in the cache: run `maxconsole model fetch-demo`")
    return [weights for entry, data in matrices(DEMO) for weights in unpack_panels(entry, data)]


def test_on_real_weights_a_table_adds_next_to_nothing_to_rounding_to_int8(real: list[PackedWeights]) -> None:
    for weights in real:
        c, exact = multipliers(weights), weights.integers().astype(np.float64)
        largest = np.abs(exact).max(axis=1, keepdims=True)
        int8 = look_up(weights, tables(weights, c))
        assert np.abs(int8.astype(np.int32)).max() == 127
        error = int8 * (ONE / c[:, None]) - exact
        ideal = np.rint(exact * 127 / largest) * largest / 127 - exact
        assert square(error) < 1.01 * square(ideal)
        # Below .3 % of a column's largest weight in root mean squares, not of the weights, and not for every one.
        assert 0.0022 < np.sqrt(square(error / largest)) < 0.0024
        assert 0.004 < np.abs(error / largest).max() < 0.0043
        assert 0.007 < np.sqrt(square(error) / square(exact)) < 0.011


def test_groups_beside_each_other_are_not_alike_enough_to_share_a_table(real: list[PackedWeights]) -> None:
    for weights in real:
        minimums = minimums_of(weights)
        alike = within_a_tenth(weights.scales) & within_a_tenth(minimums)
        assert alike.mean() < 0.12
        own = weights.integers().reshape(*weights.scales.shape, -1)[:, 1:]
        codes = weights.codes.reshape(*weights.scales.shape, -1)[:, 1:]
        shared = codes * weights.scales[:, :-1, None] + minimums[:, :-1, None]
        assert np.sqrt(square((shared - own)[alike]) / square(own[alike])) > 0.15


def within_a_tenth(values: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Which groups' values [columns][groups - 1] differ from those of the group before by less than 10 %."""
    return np.asarray(10 * np.abs(np.diff(values, axis=1)) < np.abs(values[:, :-1]))


def square(values: F64 | npt.NDArray[np.int32]) -> float:
    return float(np.square(values, dtype=np.float64).mean())
