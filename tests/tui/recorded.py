# SPDX-License-Identifier: Apache-2.0
"""The recordings that ship with the console, as sources of real Snapshots and of real sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator

from maxconsole.link import messages
from maxconsole.link.frames import Decoder
from maxconsole.recording import Channel, Recording
from maxconsole.session.replay import ReplaySession, find_recording
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import Snapshot
from maxconsole.tui.replaying import ReplayedSession

SHORT, LONG, WITHOUT_NPU, WITH_NPU = "first-answer", "long-chat", "npu-off", "npu-on"
_PATIENCE = 60.0


def snapshots(name: str, until_s: float | None = None) -> Iterator[Snapshot]:
    """What telemetry held after each token and each prefill batch, up to a moment of the recording; at last the end."""
    telemetry, decoder = Telemetry(), Decoder()
    seen: tuple[object, ...] = ()
    with Recording.open(find_recording(name)) as recording:
        for transfer in recording.transfers():
            if until_s is not None and transfer.time_ns > until_s * 1e9:
                break
            if transfer.channel is not Channel.FROM_BOARD:
                continue
            news = messages.interpret(decoder.feed(transfer.data), decoder.counters)
            telemetry.accept(news, decoder.counters, transfer.time_ns)
            snapshot = telemetry.snapshot()
            now = (snapshot.tokens, snapshot.progress, snapshot.done)
            if now != seen:
                seen = now
                yield snapshot
    yield telemetry.snapshot()


def replayed(name: str, until_s: float | None = None) -> ReplayedSession:
    """The recording, played up to a moment and held there, or played to its end."""
    session = ReplaySession.open(name, speed=0.0, paused=until_s is not None)
    if until_s is None:
        assert session.transport.wait_end(_PATIENCE)
        return ReplayedSession(session)
    expected = list(snapshots(name, until_s))[-1]
    session.transport.seek(round(until_s * 1e9))
    end = time.monotonic() + _PATIENCE
    while session.snapshot().link.bytes < expected.link.bytes:
        assert time.monotonic() < end
        time.sleep(0.01)
    return ReplayedSession(session)
