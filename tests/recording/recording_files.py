# SPDX-License-Identifier: Apache-2.0
"""Recordings to test with, with times of the test's choosing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from maxconsole.models.pieces import TokenPieces
from maxconsole.recording import Channel, Facts, Recorder, Recording, Transfer, recorder

WALL_NS = 1_700_000_000_000_000_000
FACTS = Facts(
    board="rpi5-virtual",
    board_profiles={"rpi5-virtual.toml": 'extends = "rpi5"\n', "rpi5.toml": "[cpu]\ncores = 4\n"},
    model={"family": "llama", "layers": 30},
    vocabulary=TokenPieces((b"", b"a", b" bc", b"\xff"), space_prefix=False),
    build_id="00" * 20,
    link="rtt",
    modelled=True,
    timing_model=3,
)
RECEIVED, SENT, ASKED = Channel.FROM_BOARD, Channel.TO_BOARD, Channel.ASKED

#: Channel, time in ns after the start, data.
Event = tuple[Channel, int, bytes]


class Clock:
    """The clocks of a recorder, moved by hand."""

    def __init__(self) -> None:
        self.ns = 0

    def monotonic_ns(self) -> int:
        return 5_000 + self.ns

    def time_ns(self) -> int:
        return WALL_NS + self.ns


def record(path: Path, events: Sequence[Event], monkeypatch: pytest.MonkeyPatch, *, chunks: bool = False) -> None:
    """Writes `events`, each into a chunk of its own if `chunks`."""
    clock = Clock()
    with monkeypatch.context() as patch:
        patch.setattr(recorder, "time", SimpleNamespace(monotonic_ns=clock.monotonic_ns, time_ns=clock.time_ns))
        patch.setattr(recorder, "FLUSH_PERIOD", 3600.0)
        making = Recorder(path, FACTS)
        for channel, ns, data in events:
            clock.ns = ns
            if channel is ASKED:
                making.asked(data.decode())
            else:
                (making.received if channel is RECEIVED else making.sent)(data, clock.monotonic_ns())
            if chunks:
                making._drain()
        making.close()


def contents(path: Path) -> list[Event]:
    with Recording.open(path) as recording:
        return [event_of(transfer) for transfer in recording.transfers()]


def event_of(transfer: Transfer) -> Event:
    return transfer.channel, transfer.time_ns, transfer.data
