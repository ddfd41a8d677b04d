# SPDX-License-Identifier: Apache-2.0
"""The firmware's sampler in Python, equal to the bit: a seed gives the same text on a board and here.

The rules, and why each is as it is: firmware/engine/sampling.h. Every array operation below is one float32 operation
for each element, in the firmware's order; sums go from left to right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.models.blocks import F32

#: SAMPLING_CANDIDATES of the firmware
CANDIDATES_MAX: Final = 1024

I32 = npt.NDArray[np.int32]

_F: Final = np.float32
_EXP2: Final = tuple(
    _F(float.fromhex(text)) for text in ("0x1.3a02ccp-7", "0x1.c9fc46p-5", "0x1.ec0378p-3", "0x1.62e12cp-1", "0x1p+0")
)
_EXP2_LIMIT: Final = _F(126)
_ROUND_MAGIC: Final = _F(12582912)
_LOG2_E: Final = _F(float.fromhex("0x1.715476p+0"))
_LN_2: Final = _F(float.fromhex("0x1.62e430p-1"))
_LOG_SERIES: Final = tuple(
    _F(float.fromhex(text)) for text in ("0x1.c71c72p-3", "0x1.24924ap-2", "0x1.99999ap-2", "0x1.555556p-1")
)
_SQRT_HALF_BITS: Final = 0x3F3504F3
_MASK_64: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Choice:
    """A token and its log-probability under the softmax of the raw logits."""

    token: int
    logprob: float


class Sampler:
    """The state of one request: its parameters and the generator (splitmix64, state = seed)."""

    def __init__(self, temperature: float, top_k: int, top_p: float, repeat_penalty: float, seed: int) -> None:
        """temperature >= 0; top_k 0 means CANDIDATES_MAX; 0 < top_p <= 1; repeat_penalty > 0."""
        self._temperature = _F(temperature)
        self._top_p = _F(top_p)
        self._penalty = _F(repeat_penalty)
        self._candidates = top_k if 0 < top_k <= CANDIDATES_MAX else CANDIDATES_MAX
        self._state = seed

    def choose(self, logits: F32, repeated: Iterable[int] = ()) -> Choice:
        """The next token. logits [vocabulary]; repeated: the tokens that the repetition penalty applies to."""
        with np.errstate(all="ignore"):  # infinities and NaNs have defined results here
            penalized = self._penalized(logits.astype(_F), sorted(set(repeated)))
            # Best first; a stable sort keeps ascending ids among equals.
            order = np.argsort(-_keys(penalized).astype(np.int64), kind="stable")
            chosen = order[0] if self._temperature == 0 else self._draw(penalized, order[: self._candidates])
            return Choice(int(chosen), float(_F(logits[chosen]) - log_sum_exp(logits)))

    def _penalized(self, logits: F32, repeated: list[int]) -> F32:
        if repeated:
            hit = logits[repeated]
            logits[repeated] = np.where(hit > 0, hit / self._penalty, hit * self._penalty)
        return logits

    def _draw(self, logits: F32, order: npt.NDArray[np.intp]) -> int:
        best = logits[order]
        cumulative = np.add.accumulate(exp2_negative((best[0] - best) * (_LOG2_E / self._temperature)), dtype=_F)
        enough = cumulative[:-1] >= self._top_p * cumulative[-1]
        last = int(enough.argmax()) if enough.any() else len(cumulative) - 1
        target = _F(self.next_output() >> 40) * _F(2.0**-24) * cumulative[last]
        above = cumulative[:last] > target
        return int(order[int(above.argmax()) if above.any() else last])

    def next_output(self) -> int:
        """The generator's next 64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK_64
        z = self._state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK_64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK_64
        return z ^ z >> 31


def exp2_negative(a: F32) -> F32:
    """2^-a for a >= +0 as firmware/kernels/exp2.h computes it; negative numbers and NaNs count as the limit."""
    x = np.minimum(a.view(np.uint32), _EXP2_LIMIT.view(np.uint32)).view(_F)
    shifted = x + _ROUND_MAGIC
    f = (shifted - _ROUND_MAGIC) - x
    p = np.full_like(f, _EXP2[0])
    for coefficient in _EXP2[1:]:
        p = p * f + coefficient
    bits = p.view(np.uint32) - (shifted.view(np.uint32) << np.uint32(23))
    return np.asarray(bits.view(_F))


def log_sum_exp(x: F32) -> np.float32:
    """log(sum of e^x) as firmware/kernels/logits.c computes it; NaN when x holds one."""
    x = np.ascontiguousarray(x, _F)
    if np.isnan(x).any():
        return _F(np.nan)
    with np.errstate(all="ignore"):
        top = x[_keys(x).argmax()]
        terms = exp2_negative((top - x) * _LOG2_E)
        padded = np.zeros(-(-len(terms) // 4) * 4, _F)
        padded[: len(terms)] = terms
        lanes = np.add.accumulate(padded.reshape(-1, 4), axis=0, dtype=_F)[-1]
        return _F(top + natural_log((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])))


def natural_log(x: np.float32) -> np.float32:
    """ln(x) of a normal x > 0 as firmware/kernels/log.h computes it."""
    offset = (int(x.view(np.uint32)) - _SQRT_HALF_BITS) & 0xFFFFFFFF
    exponent = (offset ^ 0x80000000) - 0x80000000 >> 23
    m = np.uint32((offset & 0x007FFFFF) + _SQRT_HALF_BITS).view(_F)
    s = (m - _F(1)) / (m + _F(1))
    s2 = s * s
    series = _LOG_SERIES[0]
    for coefficient in _LOG_SERIES[1:]:
        series = series * s2 + coefficient
    return _F(_F(exponent) * _LN_2 + (series * s2 * s + _F(2) * s))


def _keys(x: F32) -> I32:
    """Integers that order like the floats, -0 below +0, a NaN last."""
    bits = x.view(np.int32)
    keys = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    return np.asarray(np.where(np.isnan(x), np.int32(-(2**31)), keys), np.int32)
