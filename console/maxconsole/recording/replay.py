# SPDX-License-Identifier: Apache-2.0
"""A recording as a Transport: what reads it cannot tell it from a board."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from maxconsole.errors import BoardError
from maxconsole.link.frames import Decoder, Frame
from maxconsole.recording.layout import Channel, Transfer
from maxconsole.recording.playhead import Playhead
from maxconsole.recording.reader import Recording
from maxconsole.schema import wire

Overhear = Callable[[Transfer], None]
"""Called with what went the other way, on the thread that reads, before the read that followed it."""


class ReplayTransport:
    """Gives out what the board sent, read by read, at the same pace, `speed` times faster, or at once with speed 0.

    After the last byte the board is silent, like one that has nothing to do. Any thread may pause, step and seek while
    another reads. `overhear` is to be set before the first read. Time only goes forward here, because every figure is a
    sum over what came before: to go back, open a new link over `restarted`.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        speed: float = 1.0,
        paused: bool = False,
    ) -> None:
        """Raises UserError for a speed below 0. `recording` stays its owner's to close, after this."""
        self.overhear: Overhear | None = None
        self._recording = recording
        self._changed = threading.Condition()
        self._head = Playhead(recording.duration_ns, speed, paused, time.monotonic())
        self._closed = False
        self._at_end = False
        self._steps = 0
        self._hurry_to: int | None = None  # everything up to here is due at once
        self._given_ns = 0  # time of the last transfer given out
        self._pending = recording.transfers()
        self._next = next(self._pending, None)

    def read(self, timeout: float, /) -> bytes:
        """The bytes that are due, as soon as any are; see Transport."""
        deadline = time.monotonic() + timeout
        while True:
            with self._changed:
                self._check_open()
                now = time.monotonic()
                transfer = self._take(now)
                if transfer is None:
                    if now >= deadline:
                        return b""
                    self._changed.wait(min(deadline - now, self._delay(now)))
                    continue
            if transfer.channel is Channel.FROM_BOARD:
                return transfer.data
            if self.overhear is not None:
                self.overhear(transfer)

    def clock(self) -> int:
        """When the bytes of the last read were recorded, in ns after the start: a clock for the link."""
        return self._given_ns

    def write(self, data: bytes, /) -> None:
        """Takes a QUERY, whose answer is in the recording, and nothing else: raises BoardError."""
        self._check_open()
        if not all(isinstance(one, Frame) and one.type == wire.MessageType.QUERY for one in Decoder().feed(data)):
            raise BoardError(
                "this is a recording: it cannot be asked anything new",
                hint="attach to a board, or start the virtual one",
            )

    def close(self) -> None:
        """Ends reading with BoardError; see Transport."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def duration_ns(self) -> int:
        """From the start of the recording to its last transfer."""
        return self._recording.duration_ns

    @property
    def position_ns(self) -> int:
        """The moment of the recording that is being played."""
        with self._changed:
            return self._head.position(time.monotonic())

    @property
    def at_end(self) -> bool:
        """Whether everything has been given out, and the reader has dealt with it and come back for more."""
        with self._changed:
            return self._at_end

    @property
    def paused(self) -> bool:
        """Whether nothing comes but by `step` and `seek`."""
        with self._changed:
            return self._head.paused

    @property
    def speed(self) -> float:
        """How many times faster than it was recorded; 0 is at once."""
        with self._changed:
            return self._head.speed

    @speed.setter
    def speed(self, speed: float) -> None:
        with self._changed:
            self._head.set_speed(speed, time.monotonic())
            self._changed.notify_all()

    def pause(self) -> None:
        """Holds the position."""
        with self._changed:
            self._head.set_paused(True, time.monotonic())
            self._changed.notify_all()

    def resume(self) -> None:
        """Goes on from the position."""
        with self._changed:
            self._steps = 0
            self._head.set_paused(False, time.monotonic())
            self._changed.notify_all()

    def step(self) -> None:
        """Pauses, and lets one read through."""
        with self._changed:
            self._head.set_paused(True, time.monotonic())
            self._steps += 1
            self._changed.notify_all()

    def seek(self, time_ns: int) -> None:
        """Moves forward to `time_ns` after the start, or to the end; all that lies between comes at once.

        Raises ValueError for a moment before the last transfer that came.
        """
        with self._changed:
            if time_ns < self._given_ns:
                raise ValueError("the past is in `restarted`")
            self._steps = 0
            self._hurry_to = min(time_ns, self.duration_ns)
            self._head.move(self._hurry_to, time.monotonic())
            self._changed.notify_all()

    def restarted(self, time_ns: int = 0) -> ReplayTransport:
        """A new replay of the same recording at the same pace, that hurries to `time_ns` first."""
        with self._changed:
            again = ReplayTransport(self._recording, speed=self._head.speed, paused=self._head.paused)
        again.seek(max(0, time_ns))
        return again

    def wait_end(self, timeout: float) -> bool:
        """Waits until `at_end`, for at most `timeout` seconds; whether it is."""
        with self._changed:
            self._changed.wait_for(lambda: self._at_end or self._closed, timeout)
            return self._at_end

    def _check_open(self) -> None:
        if self._closed:
            raise BoardError("the replay has been closed")

    def _take(self, now: float) -> Transfer | None:
        """The next transfer, if it is due `now`. Never two at once: the reads are those that were recorded."""
        if self._hurry_to is not None and (self._next is None or self._next.time_ns > self._hurry_to):
            self._head.move(self._hurry_to, now)
            self._hurry_to = None
        taken = self._next
        if taken is None:
            if not self._at_end:
                self._at_end = True
                self._changed.notify_all()
            return None
        hurried = self._hurry_to is not None
        if not (hurried or self._steps or taken.time_ns <= self._head.limit(now)):
            return None
        self._next = next(self._pending, None)
        self._given_ns = taken.time_ns
        if not hurried and (self._steps or self._head.speed == 0):
            self._steps = max(0, self._steps - (taken.channel is Channel.FROM_BOARD))
            self._head.move(taken.time_ns, now)
        return taken

    def _delay(self, now: float) -> float:
        """Seconds until the next transfer is due."""
        return math.inf if self._next is None else self._head.delay(self._next.time_ns, now)
