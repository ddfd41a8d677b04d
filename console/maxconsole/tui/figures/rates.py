# SPDX-License-Identifier: Apache-2.0
"""Rates from successive Snapshots: bytes on the link, and tokens a second on the board's own clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from maxconsole.schema import wire
from maxconsole.telemetry.snapshot import Snapshot

#: Link rates are means over this many seconds: long enough not to flicker between two tokens.
_WINDOW: Final = 2.0


@dataclass(frozen=True, slots=True)
class Rates:
    """None where nothing has run yet. Token rates count the board's cycles, not the host's time."""

    link_bytes_per_s: float | None = None
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None


class RateMeter:
    """Feeds on Snapshots with the time at which each was taken, in seconds."""

    def __init__(self) -> None:
        self._bytes: deque[tuple[float, int]] = deque()
        self._decode_base = (0, 0)
        self._request: int | None = None
        self._decode: float | None = None

    def add(self, snapshot: Snapshot, now: float) -> Rates:
        """The rates at `now`. Times must not go back; a replay that does begins anew."""
        if self._bytes and snapshot.link.bytes < self._bytes[-1][1]:
            self._bytes.clear()
            self._decode, self._decode_base, self._request = None, (0, 0), None
        self._bytes.append((now, snapshot.link.bytes))
        while len(self._bytes) > 2 and now - self._bytes[1][0] >= _WINDOW:
            self._bytes.popleft()
        (then, before), (_, received) = self._bytes[0], self._bytes[-1]
        link = (received - before) / (now - then) if now > then else None
        hertz = snapshot.hello.counter_hz if snapshot.hello else 0
        return Rates(link, self._prefill(snapshot, hertz), self._decoding(snapshot, hertz))

    def _prefill(self, snapshot: Snapshot, hertz: int) -> float | None:
        """Of the last complete answer: while one is prefilled, the board only says how many tokens are done."""
        done = snapshot.done
        if done is None or not done.prefill_cycles:
            return None
        return done.prompt_tokens * hertz / done.prefill_cycles  # those that were cached are not among them

    def _decoding(self, snapshot: Snapshot, hertz: int) -> float | None:
        """Of the answer that runs, from its decode steps so far; afterwards of the last complete one."""
        steps = snapshot.kernels.sums(wire.Phase.DECODE, wire.Kernel.STEP)
        count, cycles = steps.count - self._decode_base[0], steps.cycles - self._decode_base[1]
        if count > 0 and cycles > 0:
            self._decode = count * hertz / cycles
        request = snapshot.done.request if snapshot.done else None
        if request != self._request:
            self._request, self._decode_base = request, (steps.count, steps.cycles)
        return self._decode
