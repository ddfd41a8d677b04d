# SPDX-License-Identifier: Apache-2.0
"""Sampling parameters are checked before they travel."""

from __future__ import annotations

import math
from typing import Any

import pytest

from maxconsole.errors import UserError
from maxconsole.session.sampling import GREEDY, Sampling


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"repeat_penalty": 0.0},
        {"repeat_window": -1},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_values_that_the_firmware_would_refuse_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        Sampling(**values)


def test_a_seed_is_drawn_once_and_kept() -> None:
    drawn = Sampling().seeded()
    assert drawn.seed is not None
    assert drawn.seeded() == drawn
    assert Sampling(seed=5).seeded().seed == 5


def test_greedy_is_deterministic() -> None:
    assert GREEDY.temperature == 0
    assert GREEDY.seeded() == GREEDY
