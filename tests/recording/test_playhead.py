# SPDX-License-Identifier: Apache-2.0
"""The playhead: where it is, and what is due, at any moment of the clock."""

from __future__ import annotations

import math

import pytest

from maxconsole.recording.playhead import Playhead

S = 1_000_000_000


@pytest.mark.parametrize(("speed", "seconds"), [(1, 4.0), (2, 2.0), (0.5, 8.0), (64, 0.0625)])
def test_it_moves_with_the_clock_times_the_speed_up_to_the_end(speed: float, seconds: float) -> None:
    head = Playhead(10 * S, speed, paused=False, now=100)
    assert head.position(100) == 0
    assert head.position(100 + seconds) == 4 * S
    assert head.limit(100 + seconds) == 4 * S
    assert head.delay(4 * S, 100) == seconds
    assert head.delay(4 * S, 100 + seconds) == 0
    assert head.position(100_000) == 10 * S


def test_it_stands_while_paused_and_goes_on_from_there() -> None:
    head = Playhead(10 * S, 1, paused=False, now=0)
    head.set_paused(True, 3)
    assert head.position(50) == 3 * S
    assert head.limit(50) < 0
    assert head.delay(3 * S, 50) == math.inf
    head.set_paused(False, 50)
    assert head.position(52) == 5 * S


def test_a_new_speed_goes_on_from_the_position() -> None:
    head = Playhead(100 * S, 1, paused=False, now=0)
    head.set_speed(10, 2)
    assert head.position(2) == 2 * S
    assert head.position(3) == 12 * S


def test_at_once_everything_is_due_and_the_position_is_where_it_was_moved_to() -> None:
    head = Playhead(10 * S, 0, paused=False, now=0)
    assert head.limit(0) == math.inf
    assert head.delay(9 * S, 0) == 0
    head.move(7 * S, 1)
    assert head.position(1000) == 7 * S
