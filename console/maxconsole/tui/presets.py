# SPDX-License-Identifier: Apache-2.0
"""Sets of events for the six counters, by what one wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from maxconsole.tui.figures.choices import Counters

if TYPE_CHECKING:
    from maxconsole.boards import Board

#: Names as in profiles/pmu. Counters that are left over count what comes first in the board's profile.
_EVENTS: Final[dict[Counters, tuple[str, ...]]] = {
    Counters.CACHES: (),
    Counters.MEMORY: (
        "L1D_CACHE_REFILL",
        "L2D_CACHE_REFILL",
        "L3D_CACHE_REFILL",
        "BUS_ACCESS_RD",
        "BUS_ACCESS_WR",
        "MEM_ACCESS",
    ),
    Counters.STALLS: ("STALL_FRONTEND", "STALL_BACKEND", "BR_MIS_PRED", "BR_RETIRED", "INST_RETIRED"),
    Counters.TRANSLATION: (
        "L1D_TLB",
        "L1D_TLB_REFILL",
        "L2D_TLB_REFILL",
        "DTLB_WALK",
        "L1D_CACHE",
        "L1I_CACHE_REFILL",
    ),
}
#: What only the model of a virtual board can count.
_MODEL_EVENTS: Final = {Counters.STALLS: ("MODEL_PORT_BOUND",)}

#: One line each, for the settings and the help.
ABOUT: Final[dict[Counters, str]] = {
    Counters.CACHES: "the profile's own: L1D, L2 and stalls",
    Counters.MEMORY: "refills of all levels, traffic, prefetches",
    Counters.STALLS: "front end, back end, branches, port bound",
    Counters.TRANSLATION: "TLB look-ups, refills and table walks",
}


def events_for(counters: Counters, board: Board) -> tuple[int, ...]:
    """Numbers for the counters of `board`. Raises UserError for a core that has no such events."""
    from maxconsole.boards.events import choose_events  # noqa: PLC0415  settings are shown without the profiles

    model = _MODEL_EVENTS.get(counters, ()) if board.virtual is not None else ()
    return choose_events(board, (*_EVENTS[counters], *model))
