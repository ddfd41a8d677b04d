# SPDX-License-Identifier: Apache-2.0
"""The C references against the same mathematics in numpy: exactly where integers decide, closely where int8 rounds."""

from __future__ import annotations

import ctypes
import math

import kernel_library as kl
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
TURN = 2.0**32


def quantized(library: ctypes.CDLL, x: F32) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int32], F32]:
    """Values [rows][k], (scale, sum) [rows][groups][2] and row scales of x [rows][k]."""
    rows, k = x.shape
    padded = -(-k // 64) * 64
    values = np.full((rows, padded), 99, np.int8)
    groups = np.full((rows, padded // 32, 2), -1, np.int32)
    low_sums = np.full((rows, padded // 32), -1, np.int32)
    scales = np.empty(rows, np.float32)
    out = kl.Activations(*map(kl.address, (values, groups, low_sums, scales)), padded)
    library.reference_quantize_rows(ctypes.c_void_p(kl.address(x)), ctypes.c_size_t(k), rows, k, ctypes.byref(out))
    np.testing.assert_array_equal(groups[..., 1], values.reshape(rows, -1, 32).sum(axis=2, dtype=np.int32))
    np.testing.assert_array_equal(low_sums, values.reshape(rows, -1, 32)[..., :16].sum(axis=2, dtype=np.int32))
    return values, groups, scales


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 9), st.integers(0, 2**32 - 1), st.floats(-60, 60))
@example(1, 1, 0, 0.0)
def test_quantized_rows_are_the_numpy_ones(
    library: ctypes.CDLL, rows: int, groups: int, seed: int, exponent: float
) -> None:
    random = np.random.default_rng(seed)
    x = (random.normal(size=(rows, 32 * groups)) * np.exp2(exponent)).astype(np.float32)
    x[:, : 16 * (seed % 3)] *= np.float32(1e-4)
    values, scales, row_scales = quantized(library, x)
    row = np.abs(x).max(axis=1) / np.float32(127 * 65535)
    np.testing.assert_array_equal(row_scales, row)
    tops = np.abs(x.reshape(rows, groups, 32)).max(axis=2)
    steps = np.clip(np.ceil(tops / (np.float32(127) * row[:, None])), 1, 65535).astype(np.int32)
    np.testing.assert_array_equal(scales[:, :groups, 0], steps)
    factors = np.float32(1) / (row[:, None] * steps.astype(np.float32))
    q = np.clip(np.rint(x.reshape(rows, groups, 32) * factors[..., None]), -127, 127)
    np.testing.assert_array_equal(values.reshape(rows, -1, 32)[:, :groups], q)
    assert not values.reshape(rows, -1, 32)[:, groups:].any()
    # Half a step of the group's scale, and a little for the roundings on the way.
    error = np.abs(row[:, None, None] * steps[..., None] * q - x.reshape(rows, groups, 32))
    assert (error <= 0.501 * row[:, None, None] * steps[..., None]).all()


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_shows_in_every_output(library: ctypes.CDLL, poison: float) -> None:
    x = np.ones((2, 64), np.float32)
    x[0, 5] = poison
    values, _, scales = quantized(library, x)
    assert math.isnan(scales[0])
    assert not values[0].any()
    assert (values[1] == 127).all()


def rope_rows(library: ctypes.CDLL, steps: npt.NDArray[np.uint32], positions: range) -> F32:
    rows = np.empty((len(positions), 2 * len(steps)), np.float32)
    for row, position in zip(rows, positions, strict=True):
        library.reference_rope_row(
            ctypes.c_void_p(kl.address(steps)), len(steps), ctypes.c_uint32(position), ctypes.c_void_p(kl.address(row))
        )
    return rows


@pytest.mark.parametrize("position", [0, 1, 77, 32767, 10**6, 2**32 - 1])
def test_rotations_are_exact_at_any_position(library: ctypes.CDLL, position: int) -> None:
    steps = np.rint(TURN * 10000.0 ** (-np.arange(32) / 32) / (2 * math.pi)).astype(np.uint32)
    row = rope_rows(library, steps, range(position, position + 1))[0]
    angles = np.array([2 * math.pi * (position * int(step) % 2**32) / TURN for step in steps])
    expected = np.concatenate((np.cos(angles), np.sin(angles)))
    assert np.abs(row - expected).max() <= 4e-7


def powers(library: ctypes.CDLL, name: str, arguments: npt.NDArray[np.float32] | npt.NDArray[np.uint32]) -> F64:
    out = np.empty(len(arguments), np.float32)
    library[name](ctypes.c_void_p(kl.address(arguments)), ctypes.c_size_t(len(out)), ctypes.c_void_p(kl.address(out)))
    return out.astype(np.float64)


def test_the_power_of_two_is_within_its_bound(library: ctypes.CDLL) -> None:
    x = np.linspace(0, 126, 200_001, dtype=np.float32)
    assert np.abs(powers(library, "host_exp2_negative", x) / np.exp2(-x.astype(np.float64)) - 1).max() < 3.1e-6
    assert powers(library, "host_exp2_negative", np.array([0, np.inf], np.float32)).tolist() == [1, 2.0**-126]


def test_the_power_of_softmax_is_within_its_bound_monotonic_and_exact_at_both_ends(library: ctypes.CDLL) -> None:
    steps = np.arange((127 << 11) + 1, dtype=np.uint32)
    power = powers(library, "host_exp2_steps", steps)
    assert power[0] == 0
    assert power[-1] == 1
    assert (np.diff(power) > 0).all()
    normal = steps >= 1 << 11
    assert np.abs(power[normal] / np.exp2(steps[normal] / 2048 - 127) - 1).max() < 8.6e-5


def test_swiglu_is_within_a_few_roundings(library: ctypes.CDLL) -> None:
    gate = np.array([*np.linspace(-86, 100, 5001), 0.0, -1e30, 1e30], np.float32)
    up = np.linspace(-2, 2, len(gate), dtype=np.float32)
    x = gate.astype(np.float64)
    expected = x * up / (1 + np.exp(-np.maximum(x, -700)))
    stride = ctypes.c_size_t(len(gate))
    library.reference_swiglu(
        ctypes.c_void_p(kl.address(gate)), stride, ctypes.c_void_p(kl.address(up)), stride, 1, len(gate)
    )
    assert (np.abs(gate - expected) <= 6e-6 * np.abs(expected) + 1e-34).all()


def softmax(x: F64) -> F64:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())


def rotated(x: F64, angles: F64) -> F64:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate((a * c - b * s, b * c + a * s), axis=-1)


def naive_attention(q: F64, k: F64, v: F64, context: int, angle: F64) -> F64:
    """q [n][heads][d], k and v [n][kv heads][d], not rotated: keys move to their place in the context of each query."""
    n, heads, d = q.shape
    out = np.empty_like(q)
    window = context - kl.SINKS
    for p in range(n):
        seen = [t for t in range(p + 1) if t < kl.SINKS or t > p - window]
        # Once the context is full, what is seen stands at 0..context - 1.
        places = np.arange(len(seen), dtype=np.float64)
        at = len(seen) - 1 if p >= context else p
        for h in range(heads):
            kv = h // (heads // k.shape[1])
            query = rotated(q[p, h], at * angle)
            keys = rotated(k[seen, kv], places[:, None] * angle)
            out[p, h] = softmax(keys @ query / math.sqrt(d)) @ v[seen, kv]
    return out


@pytest.mark.parametrize(("head_dim", "kv_heads"), [(16, 1), (64, 2), (80, 4)])
def test_attention_is_softmax_over_sinks_and_window(library: ctypes.CDLL, head_dim: int, kv_heads: int) -> None:
    heads, context, batch, count = 4, 50, 7, 180
    random = np.random.default_rng(head_dim)
    q, k, v = (random.normal(size=(count, n, head_dim)) for n in (heads, kv_heads, kv_heads))
    steps = np.rint(TURN * 10000.0 ** (-2 * np.arange(head_dim // 2) / head_dim) / (2 * math.pi)).astype(np.uint32)
    ring, _memory = kl.ring(library, kl.KvShape(1, kv_heads, head_dim, context, batch))
    rope = rope_rows(library, steps, range(count))
    sink_rope = rope_rows(library, steps, range(context - 1, context))
    queries, keys, values = (np.ascontiguousarray(x.reshape(count, -1), np.float32) for x in (q, k, v))
    out = np.zeros_like(queries)
    for start in range(0, count, batch):
        rows = min(batch, count - start)
        ids = np.zeros(rows, np.uint32)
        library.kv_ring_append(ctypes.byref(ring), ctypes.c_void_p(kl.address(ids)), rows)
        here = (keys[start:], values[start:])
        update = kl.KvUpdate(*map(kl.address, here), keys.shape[1], kl.address(rope[start:]), start, rows)
        library.reference_kv_cache_update(ctypes.byref(ring), 0, ctypes.byref(update))
        job = kl.Attention(
            queries=kl.address(queries[start:]),
            stride=queries.shape[1],
            rope=kl.address(rope[start:]),
            sink_rope=kl.address(sink_rope),
            out=kl.address(out[start:]),
            position=start,
            rows=rows,
            heads=heads,
        )
        library.reference_attention(ctypes.byref(ring), 0, ctypes.byref(job))
    expected = naive_attention(q, k, v, context, steps / TURN * 2 * math.pi)
    error = np.sqrt(((out.reshape(expected.shape) - expected) ** 2).sum(-1) / (expected**2).sum(-1))
    assert error.mean() < 0.012  # int8 queries, keys and values
    assert error.max() < 0.06
