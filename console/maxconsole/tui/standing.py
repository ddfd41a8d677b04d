# SPDX-License-Identifier: Apache-2.0
"""Puts together what the status bar shows, from the control and the latest Snapshot."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from maxconsole.tui.drawing.units import clock
from maxconsole.tui.widgets.status import Standing

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot
    from maxconsole.tui.control import Control
    from maxconsole.tui.figures.rates import RateMeter
    from maxconsole.tui.seam import Playback, Session


class StandingMeter:
    """Keeps what rates need from one look to the next."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._session: Session | None = None
        self._rates: RateMeter | None = None

    def read(self, control: Control, snapshot: Snapshot | None) -> Standing:
        """The bar as it is now."""
        session = control.session
        if session is None or snapshot is None:
            return Standing(control.state, control.board_name, control.model_name)
        if session is not self._session or self._rates is None:
            from maxconsole.tui.figures.rates import RateMeter  # noqa: PLC0415  numpy would delay the first paint

            self._session, self._rates = session, RateMeter()
        rates = self._rates.add(snapshot, self._now())
        identity, link = session.identity, snapshot.link
        return Standing(
            state=control.state,
            board=identity.board,
            model=identity.model,
            carrier=identity.carrier,
            place=_place(session.player.playback()) if session.player else "",
            link_bytes_per_s=rates.link_bytes_per_s,
            dropped=snapshot.dropped_events,
            damaged=link.bad_frames + link.lost_frames,
            prefill_tokens_per_s=rates.prefill_tokens_per_s,
            decode_tokens_per_s=rates.decode_tokens_per_s,
            badge=identity.badge,
            recording=bool(control.recording),
        )


def _place(playback: Playback) -> str:
    """Where a replay stands, and how fast it goes."""
    place = f"{clock(playback.at)}/{clock(playback.length)}"
    if playback.ended:
        return f"{place} end"
    return f"{place} {f'{playback.speed:g}x' if playback.speed else 'at once'}"
