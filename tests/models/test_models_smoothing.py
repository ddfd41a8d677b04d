# SPDX-License-Identifier: Apache-2.0
"""Smoothing and the integers of requantization: what they keep, and that nothing leaves its range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxconsole.models.multipliers import Loudness, column_ranges, shared_unit
from maxconsole.models.requantize import CENTER, column_scales, requantize, rounded_product
from maxconsole.models.smoothing import Smoothing, smoothing_bytes
from maxconsole.models.unpack import PackedWeights

OUTPUTS, GROUPS = 16, 6
K = 32 * GROUPS


def packed(seed: int, *, minimum: bool, bits: int = 4) -> PackedWeights:
    """Random weights as a packer would leave them."""
    random = np.random.default_rng(seed)
    zero = 0 if minimum else 1 << (bits - 1)
    codes = random.integers(0, 1 << bits, (OUTPUTS, K)).astype(np.int32) - zero
    scales = random.integers(0 if minimum else -4095, 4096, (OUTPUTS, GROUPS)).astype(np.int32)
    middle = -scales * ((1 << bits) - 1) // 2 + random.integers(-500, 500, scales.shape)
    minimums = np.clip(middle, -32767, 32767).astype(np.int32) if minimum else None
    return PackedWeights(random.random(OUTPUTS).astype(np.float32), scales, minimums, codes)


def factors(seed: int) -> npt.NDArray[np.int8]:
    return np.random.default_rng(seed).integers(1, 128, K).astype(np.int8)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), minimum=st.booleans(), bits=st.sampled_from((4, 5)))
def test_int8_weights_are_the_smoothed_ones(seed: int, minimum: bool, bits: int) -> None:
    weights, s = packed(seed, minimum=minimum, bits=bits), factors(seed)
    loudness = Loudness.of(np.ones(K), s)
    ranges = column_ranges(weights, s, loudness)
    unit = shared_unit([ranges])
    c = ranges.multipliers(unit, loudness, s)
    scales = column_scales(weights.factors, unit if minimum else None, c)[:, None]
    expected = weights.dense() * s / 128
    error = np.abs(requantize(weights, s, unit, c) * scales - expected)
    # Half a step of int8, and what rounding a group's integers adds in the largest of codes and channels.
    steps = 0.54 if not minimum else 0.6 + 127 * unit * (CENTER + (1 << bits)) / 2**16
    assert (error <= steps * scales + 1e-6).all()
    assert np.abs(requantize(weights, s, unit, c)).max() > 100


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_intermediate_leaves_its_integer(seed: int) -> None:
    weights, s = packed(seed, minimum=True, bits=5), factors(seed)
    assert weights.minimums is not None
    loudness = Loudness.of(np.ones(K), s)
    ranges = column_ranges(weights, s, loudness)
    unit = shared_unit([ranges])
    c = ranges.multipliers(unit, loudness, s).astype(np.int32)[:, None]
    a = rounded_product(weights.scales, c)
    b = rounded_product(weights.minimums + CENTER * weights.scales, c) - CENTER * a
    assert a.min() >= 0
    assert a.max() <= 255
    t = 31 * a + b
    assert min(b.min(), t.min()) >= -32768
    assert max(b.max(), t.max()) <= 32767
    assert 127 * unit <= 32767


def test_a_scale_below_zero_leaves_no_int8_form_where_there_is_a_minimum() -> None:
    weights, s = packed(1, minimum=True), factors(1)
    weights.scales[3, 2] = -7
    loudness = Loudness.of(np.ones(K), s)
    ranges = column_ranges(weights, s, loudness)
    c = ranges.multipliers(shared_unit([ranges]), loudness, s)
    assert not c.any()
    assert not column_scales(weights.factors, 1, c).any()


@pytest.mark.parametrize("channels", [32, 64, 576])
def test_a_smoothing_tensor_reads_back(channels: int) -> None:
    random = np.random.default_rng(channels)
    padded = -(-channels // 64) * 64
    s = np.zeros(padded, np.int8)
    s[:channels] = random.integers(1, 128, channels)
    made = Smoothing(s, 77, random.integers(1, 2000, 48).astype(np.int16), random.random(48).astype(np.float32))
    data = made.packed()
    assert len(data) == smoothing_bytes(channels, 48)
    again = Smoothing.unpack(data, channels, 48)
    assert again.unit == 77
    np.testing.assert_array_equal(again.factors, s)
    np.testing.assert_array_equal(again.multipliers, made.multipliers)
    np.testing.assert_array_equal(again.scales, made.scales)
