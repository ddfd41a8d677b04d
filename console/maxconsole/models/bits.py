# SPDX-License-Identifier: Apache-2.0
"""Bit fields of byte arrays. Operators with Python integers would do the same, but widen the array's static type."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]


def low_bits(values: U8, count: int) -> U8:
    """The `count` lowest bits of each byte."""
    return values & np.uint8((1 << count) - 1)


def high_bits(values: U8, start: int) -> U8:
    """Bits `start`..7 of each byte, moved down."""
    return values >> np.uint8(start)


def raised(values: U8, by: int) -> U8:
    """Each byte moved up by `by` bits; what leaves the byte is lost."""
    return values << np.uint8(by)
