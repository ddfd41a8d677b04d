# SPDX-License-Identifier: Apache-2.0
"""The moment of a recording that is being played, which moves with the clock."""

from __future__ import annotations

import math

from maxconsole.errors import UserError

_NS = 1e9


class Playhead:
    """A position in ns, moving `speed` times as fast as the clock unless it is paused; clock times are seconds.

    With a speed of 0, "at once", it stands where it was last moved to.
    """

    def __init__(self, duration_ns: int, speed: float, paused: bool, now: float) -> None:
        """Raises UserError for a speed below 0."""
        self.speed = _checked(speed)
        self.paused = paused
        self._duration_ns = duration_ns
        self._position_ns = 0
        self._since = now

    def position(self, now: float) -> int:
        """From 0 to the duration."""
        moved = 0 if self.paused else int((now - self._since) * self.speed * _NS)
        return min(self._position_ns + moved, self._duration_ns)

    def move(self, position_ns: int, now: float) -> None:
        """Goes on from `position_ns`."""
        self._position_ns = position_ns
        self._since = now

    def set_speed(self, speed: float, now: float) -> None:
        """Raises UserError for a speed below 0."""
        checked = _checked(speed)
        self.move(self.position(now), now)
        self.speed = checked

    def set_paused(self, paused: bool, now: float) -> None:
        """Holds the position, or goes on from it."""
        self.move(self.position(now), now)
        self.paused = paused

    def limit(self, now: float) -> float:
        """Everything up to this moment of the recording is due."""
        if self.paused:
            return -1
        return math.inf if self.speed == 0 else self.position(now)

    def delay(self, time_ns: int, now: float) -> float:
        """Seconds until the moment `time_ns` of the recording; infinity while paused."""
        if self.paused:
            return math.inf
        return 0.0 if self.speed == 0 else max(0.0, (time_ns - self.position(now)) / _NS / self.speed)


def _checked(speed: float) -> float:
    if not (math.isfinite(speed) and speed >= 0):
        raise UserError(f"a speed of {speed:g}", hint="choose 0 for at once, 1 as recorded, 10 for ten times faster")
    return speed
