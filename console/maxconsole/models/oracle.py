# SPDX-License-Identifier: Apache-2.0
"""The model in plain float32 numpy, teacher-forced: what the engine's answers are measured against.

Nothing is quantized beyond the weights themselves. Layers are the outer loop, so that only one layer's weights are
float32 at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.models.blocks import F32
from maxconsole.models.hyperparameters import Hyperparameters
from maxconsole.models.oracle_weights import Weights
from maxconsole.schema.image import TensorRole

#: what a layer's matrices multiply in place of their input: called with layer, the input's role in
#: `smoothing.READERS` and its values [tokens][K]
MatrixInputs = Callable[[int, TensorRole, F32], F32]

SINKS: Final = 4  # first tokens that a query sees for ever
_POSITIONS: Final = 256  # whose logits are made at a time, and queries whose scores are


@dataclass(frozen=True, slots=True)
class LogitBlock:
    """Logits [positions][vocabulary] of sequence number `sequence` from position `start` on."""

    sequence: int
    start: int
    logits: F32


def as_they_are(layer: int, role: TensorRole, values: F32) -> F32:
    """Inputs as float32 has them."""
    return values


def teacher_forced_logits(
    weights: Weights,
    sequences: Sequence[Sequence[int]],
    context: int | None = None,
    inputs: MatrixInputs = as_they_are,
) -> Iterator[LogitBlock]:
    """Logits after each token of each sequence, in blocks in ascending order.

    context: tokens that a query sees, as the engine's ring has it: the first SINKS and the latest others; the sinks
    then keep the distance to the query that they had when the ring was full. None: all tokens.
    """
    shapes = weights.shapes
    hidden = embedded(weights, sequences)
    for layer in range(shapes.layers):
        hidden = layer_outputs(weights, layer, hidden, context, inputs)
    norm = weights.tensor(TensorRole.OUTPUT_NORM)
    for index, x in enumerate(hidden):
        for start in range(0, len(x), _POSITIONS):
            last = rms_norm(x[start : start + _POSITIONS], norm, shapes.rms_epsilon)
            parts = [last @ block.T for block in weights.blocks(weights.head)]
            yield LogitBlock(index, start, np.concatenate(parts, axis=1))


def embedded(weights: Weights, sequences: Sequence[Sequence[int]]) -> list[F32]:
    """The residual stream before the first layer: [tokens][hidden] of each sequence."""
    return [weights.rows(TensorRole.TOKEN_EMBEDDING, tokens) for tokens in sequences]


def layer_outputs(
    weights: Weights, layer: int, hidden: list[F32], context: int | None = None, inputs: MatrixInputs = as_they_are
) -> list[F32]:
    """The residual stream after `layer`, of what it was before."""
    attention = _Attention(weights, layer, context, inputs)
    hidden = [x + attention(x) for x in hidden]
    parts = _feed_forward(weights, layer, hidden, inputs)
    return [x + part for x, part in zip(hidden, parts, strict=True)]


def rms_norm(x: F32, weight: F32, epsilon: float) -> F32:
    """x / sqrt(mean(x^2) + epsilon) * weight along the last axis."""
    mean = np.square(x).mean(axis=-1, keepdims=True, dtype=np.float32)
    return np.asarray(x / np.sqrt(mean + np.float32(epsilon)) * weight, np.float32)


def rotate(x: F32, positions: npt.NDArray[np.int64], shapes: Hyperparameters, *, interleaved: bool) -> F32:
    """Rotary positions on x [tokens][heads][head_dim]."""
    angles = positions[:, None] * shapes.rope_frequencies[None]
    cosine, sine = (np.asarray(f(angles), np.float32)[:, None] for f in (np.cos, np.sin))
    half = shapes.head_dim // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = first * cosine - second * sine, first * sine + second * cosine
    if interleaved:
        return np.stack(turned, axis=-1).reshape(x.shape)
    return np.concatenate(turned, axis=-1)


def _feed_forward(weights: Weights, layer: int, hidden: list[F32], inputs: MatrixInputs) -> Iterator[F32]:
    """down(silu(gate(x)) * up(x)) of each sequence."""
    norm, gate, up, down = (
        weights.tensor(role, layer)
        for role in (TensorRole.FFN_NORM, TensorRole.FFN_GATE, TensorRole.FFN_UP, TensorRole.FFN_DOWN)
    )
    for x in hidden:
        normed = inputs(layer, TensorRole.FFN_SMOOTHING, rms_norm(x, norm, weights.shapes.rms_epsilon))
        gated = normed @ gate.T
        # Below -80 the quotient is zero to float32; the bound keeps exp from overflowing.
        active = gated / (1 + np.exp(-np.maximum(gated, -80))) * (normed @ up.T)
        yield inputs(layer, TensorRole.FFN_DOWN_SMOOTHING, active) @ down.T


class _Attention:
    """Grouped-query attention of one layer, residual excluded."""

    def __init__(self, weights: Weights, layer: int, context: int | None, inputs: MatrixInputs) -> None:
        self._weights = weights
        self._layer = layer
        self._context = context
        self._inputs = inputs
        roles = (
            TensorRole.ATTN_NORM,
            TensorRole.ATTN_Q,
            TensorRole.ATTN_K,
            TensorRole.ATTN_V,
            TensorRole.ATTN_OUTPUT,
        )
        self._norm, self._q, self._k, self._v, self._output = (weights.tensor(role, layer) for role in roles)
        biases = (TensorRole.ATTN_Q_BIAS, TensorRole.ATTN_K_BIAS, TensorRole.ATTN_V_BIAS)
        self._biases = [weights.tensor(role, layer) if weights.has(role, layer) else np.float32(0) for role in biases]

    def __call__(self, x: F32) -> F32:
        shapes = self._weights.shapes
        normed = rms_norm(x, self._norm, shapes.rms_epsilon)
        normed = self._inputs(self._layer, TensorRole.ATTN_SMOOTHING, normed)
        query, key, value = (
            (normed @ matrix.T + bias).reshape(len(x), -1, shapes.head_dim)
            for matrix, bias in zip((self._q, self._k, self._v), self._biases, strict=True)
        )
        positions = np.arange(len(x))
        key = self._rotate(key, positions)
        near = self._rotate(query, positions)
        far = near if self._context is None else self._rotate(query, np.minimum(positions, self._context - 1))
        mixed = np.empty((len(x), shapes.heads, shapes.head_dim), np.float32)
        shared = shapes.heads // shapes.kv_heads
        for head in range(shapes.heads):
            k, v = key[:, head // shared], value[:, head // shared]
            for start in range(0, len(x), _POSITIONS):
                rows = slice(start, start + _POSITIONS)
                scores = near[rows, head] @ k.T
                scores[:, :SINKS] = far[rows, head] @ k[:SINKS].T
                mixed[rows, head] = self._softmax(scores, positions[rows]) @ v
        joined = self._inputs(self._layer, TensorRole.ATTN_OUTPUT_SMOOTHING, mixed.reshape(len(x), -1))
        return joined @ self._output.T

    def _rotate(self, x: F32, positions: npt.NDArray[np.int64]) -> F32:
        return rotate(x, positions, self._weights.shapes, interleaved=self._weights.interleaved)

    def _softmax(self, scores: F32, queries: npt.NDArray[np.int64]) -> F32:
        """Probabilities [queries][keys] of visible keys."""
        keys = np.arange(scores.shape[1])[None]
        visible = keys <= queries[:, None]
        if self._context is not None:
            visible &= (keys < SINKS) | (keys > queries[:, None] - (self._context - SINKS))
        scaled = np.where(visible, scores / np.float32(np.sqrt(self._weights.shapes.head_dim)), -np.inf)
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)
