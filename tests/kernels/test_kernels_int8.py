# SPDX-License-Identifier: Apache-2.0
"""The references of the int8 route against numpy: tiles of quantized rows, and their products with a panel."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass

import kernel_library as kl
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]
TILE_ROWS, COLUMNS = 8, 16


@dataclass(frozen=True, slots=True)
class Tiles:
    """int8 rows as the kernels have them: values [tiles][k / 4][8][4], steps [tiles][blocks][8], row scales."""

    values: I8
    steps: I32
    row_scales: F32
    block: int

    @classmethod
    def empty(cls, rows: int, k: int, block: int) -> Tiles:
        tiles = -(-rows // TILE_ROWS)
        return cls(
            np.full((tiles, k // 4, TILE_ROWS, 4), 99, np.int8),
            np.full((tiles, -(-k // block), TILE_ROWS), -1, np.int32),
            np.full(tiles * TILE_ROWS, -1, np.float32),
            block,
        )

    @property
    def rows(self) -> I8:
        """values [rows][k]."""
        return self.values.transpose(0, 2, 1, 3).reshape(len(self.row_scales), -1)

    @property
    def scales(self) -> I32:
        """Block scales [rows][blocks]: each is the sum of the steps from it to the end."""
        sums = self.steps[:, ::-1].cumsum(axis=1, dtype=np.int32)[:, ::-1]
        return sums.transpose(0, 2, 1).reshape(len(self.row_scales), -1)

    def struct(self) -> kl.Int8Activations:
        pointers = map(kl.address, (self.values, self.steps, self.row_scales))
        return kl.Int8Activations(*pointers, self.values.shape[1] * 4, self.block)


def quantized(library: ctypes.CDLL, x: F32, smoothing: F32, block: int, padded: int) -> Tiles:
    tiles = Tiles.empty(len(x), padded, block)
    rows = kl.FloatRows(kl.address(x), x.shape[1], COLUMNS)
    library.reference_quantize_tiles(
        ctypes.byref(rows), *x.shape, ctypes.c_void_p(kl.address(smoothing)), ctypes.byref(tiles.struct())
    )
    return tiles


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 17),
    groups=st.integers(1, 9),
    block=st.sampled_from([32, 64, 96, 192]),
    seed=st.integers(0, 2**32 - 1),
    exponent=st.floats(-60, 60),
)
def test_tiles_are_the_numpy_ones(
    library: ctypes.CDLL, *, rows: int, groups: int, block: int, seed: int, exponent: float
) -> None:
    random = np.random.default_rng(seed)
    k = 32 * groups
    x = (random.normal(size=(rows, k)) * np.exp2(exponent)).astype(np.float32)
    x[:, : 16 * (seed % 3)] *= np.float32(1e-4)
    smoothing = np.exp2(random.normal(size=k)).astype(np.float32)
    padded = -(-k // 64) * 64
    tiles = quantized(library, x, smoothing, block, padded)
    smooth = x * smoothing
    top = np.abs(smooth).max(axis=1)
    np.testing.assert_array_equal(tiles.row_scales[:rows], top / np.float32(127))
    for b, start in enumerate(range(0, k, block)):
        part = smooth[:, start : start + block]
        here = np.abs(part).max(axis=1)
        scale = np.minimum((here / top).astype(np.float64) * 2**31, 2**31 - 1).astype(np.int32)
        np.testing.assert_array_equal(tiles.scales[:rows, b], scale)
        q = np.rint(part.astype(np.float64) * (np.float32(127) / here)[:, None])
        assert np.abs(q).max() <= 127
        np.testing.assert_array_equal(tiles.rows[:rows, start : start + part.shape[1]], q)
    assert not tiles.rows[rows:].any()
    assert not tiles.rows[:, k:].any()
    assert not tiles.row_scales[rows:].any()


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_shows_in_every_output(library: ctypes.CDLL, poison: float) -> None:
    x = np.ones((2, 64), np.float32)
    x[0, 5] = poison
    tiles = quantized(library, x, np.ones(64, np.float32), 32, 64)
    assert math.isnan(tiles.row_scales[0])
    assert not tiles.rows[0, :32].any()
    assert (tiles.rows[1] == 127).all()


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 20),
    first=st.integers(0, 19),
    groups=st.integers(1, 12),
    block=st.sampled_from([32, 96, 192]),
    seed=st.integers(0, 2**32 - 1),
)
def test_products_are_sums_in_units_of_the_largest_scale(
    library: ctypes.CDLL, *, rows: int, first: int, groups: int, block: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    k = 32 * groups
    first = min(first, rows - 1)
    tiles = Tiles.empty(rows, k, block)
    tiles.values[:] = random.integers(-127, 128, tiles.values.shape)
    scales = random.integers(0, 2**31, tiles.steps.shape)
    tiles.steps[:] = scales - np.append(scales[:, 1:], 0 * scales[:, :1], axis=1)
    tiles.row_scales[:] = random.normal(size=tiles.row_scales.shape)
    weights = random.integers(-128, 128, (2, k // 4, 8, 4)).astype(np.int8)
    columns = random.normal(size=COLUMNS).astype(np.float32)
    panel = kl.Int8Panel(kl.address(weights), (ctypes.c_float * COLUMNS)(*columns), k)
    y = np.zeros((rows - first, COLUMNS + 3), np.float32)
    library.reference_gemm_int8_panel(
        ctypes.byref(panel),
        ctypes.byref(tiles.struct()),
        first,
        rows,
        ctypes.c_void_p(kl.address(y)),
        ctypes.c_size_t(COLUMNS + 3),
    )
    by_column = weights.transpose(0, 2, 1, 3).reshape(COLUMNS, k).astype(np.int64)
    sums = np.zeros((rows, COLUMNS), np.int64)
    exact = np.zeros((rows, COLUMNS))
    so_far = np.zeros((rows, COLUMNS), np.int64)
    steps = tiles.steps.transpose(0, 2, 1).reshape(len(tiles.row_scales), -1)[:rows].astype(np.int64)
    for b, start in enumerate(range(0, k, block)):
        here = slice(start, start + block)
        dots = tiles.rows[:rows, here].astype(np.int64) @ by_column[:, here].T
        so_far += dots
        sums += (so_far * steps[:, b, None] + 2**30) >> 31
        exact += dots * (tiles.scales[:rows, b, None] / 2**31)
    assert np.abs(sums - exact).max() <= tiles.steps.shape[1] / 2
    expected = sums.astype(np.float32) * (columns * tiles.row_scales[:rows, None])
    np.testing.assert_array_equal(y[:, :COLUMNS], expected[first:])
    assert not y[:, COLUMNS:].any()
