# SPDX-License-Identifier: Apache-2.0
"""The KV ring's state, and how often the index map was found in L1."""

from __future__ import annotations

from dataclasses import dataclass

from maxconsole.schema import wire
from maxconsole.telemetry.report import ratio
from maxconsole.tui.drawing.band import Ring


@dataclass(frozen=True, slots=True)
class RingFigures:
    """`map_hits` is None where the board cannot watch a region of memory apart."""

    ring: Ring
    start: int
    end: int
    wraps: int
    bytes_per_token: int
    map_entries: int
    map_lookups: int
    map_hits: float | None  # L1D accesses to the index map that hit, 0..1

    @property
    def occupied(self) -> int:
        """Slots that hold a token, visible or not."""
        return min(self.ring.length, self.ring.capacity)

    @property
    def bytes_used(self) -> int:
        return self.occupied * self.bytes_per_token

    @property
    def bytes_held(self) -> int:
        return self.ring.capacity * self.bytes_per_token


def ring_figures(state: wire.KvState) -> RingFigures | None:
    """None for a board that reports a ring without slots: no model is loaded."""
    if state.capacity <= state.page_tokens or not state.page_tokens:
        return None
    missed = ratio(state.map_refills, state.map_accesses)
    return RingFigures(
        ring=Ring(state.capacity, state.page_tokens, state.context, state.sinks, state.length),
        start=state.start,
        end=state.end,
        wraps=state.wraps,
        bytes_per_token=state.bytes_per_token,
        map_entries=state.map_entries,
        map_lookups=state.map_lookups,
        map_hits=None if missed is None or not state.map_lookups else 1.0 - missed,
    )
