# SPDX-License-Identifier: Apache-2.0
"""How far one stream of logits is from another: top-1 agreement and Kullback-Leibler divergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxconsole.models.blocks import F32

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over `positions` predictions; divergences KL(reference || candidate) in nats.

    `margin_of_misses` is the median difference between the reference's two best logits where the choices differ: small
    means coin tosses.
    """

    positions: int
    top1: float  # share of positions with the same most likely token
    mean_kl: float
    p99_kl: float
    margin_of_misses: float


class Comparison:
    """Gathers blocks of logits of the same positions from a reference and a candidate."""

    def __init__(self) -> None:
        self._same: list[npt.NDArray[np.bool_]] = []
        self._divergence: list[F64] = []
        self._margin: list[F64] = []

    def add(self, reference: F32, candidate: F32) -> None:
        """Logits [positions][vocabulary] of both. Raises ValueError for shapes that differ and what is not a number."""
        if reference.shape != candidate.shape:
            raise ValueError(f"logits of {reference.shape} cannot be compared with {candidate.shape}")
        expected, got = log_softmax(reference), log_softmax(candidate)
        divergence = (np.exp(expected) * (expected - got)).sum(axis=1)
        if not np.isfinite(divergence).all():
            raise ValueError("the logits are not all numbers")
        best = np.partition(expected, -2, axis=1)[:, -2:]
        self._same.append(expected.argmax(axis=1) == got.argmax(axis=1))
        self._divergence.append(divergence)
        self._margin.append(best[:, 1] - best[:, 0])

    def result(self) -> Agreement:
        """Raises ValueError when nothing was added."""
        same = np.concatenate(self._same)
        divergence = np.concatenate(self._divergence)
        missed = np.concatenate(self._margin)[~same]
        return Agreement(
            positions=len(same),
            top1=float(same.mean()),
            mean_kl=float(divergence.mean()),
            p99_kl=float(np.quantile(divergence, 0.99)),
            margin_of_misses=float(np.median(missed)) if len(missed) else 0.0,
        )


def log_softmax(logits: F32) -> F64:
    """Log probabilities along the last axis, in double: divergences of 1e-3 are sums of many small differences."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)), np.float64)
