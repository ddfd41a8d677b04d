# SPDX-License-Identifier: Apache-2.0
"""Replay: the same reads at the same pace, paused, stepped, sought, and the same Snapshot at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from recording_files import ASKED, FACTS, RECEIVED, SENT, Event, event_of, record

from maxconsole.errors import BoardError, UserError
from maxconsole.link.client import Link
from maxconsole.link.frames import Decoder, encode_frame
from maxconsole.link.messages import interpret
from maxconsole.link.transport import Transport
from maxconsole.recording import Recorder, Recording, ReplayTransport
from maxconsole.schema import wire
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import Snapshot

MS = 1_000_000
EVENTS: list[Event] = [
    (SENT, 0, b"query"),
    (RECEIVED, 0, b"a"),
    (RECEIVED, 60 * MS, b"b"),
    (SENT, 61 * MS, b"prompt"),
    (RECEIVED, 120 * MS, b"c"),
    (RECEIVED, 180 * MS, b"d"),
]
READS = [b"a", b"b", b"c", b"d"]


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    record(tmp_path / "a.mcap", EVENTS, monkeypatch, chunks=True)
    with Recording.open(tmp_path / "a.mcap") as recording:
        yield recording


def everything(transport: ReplayTransport) -> list[bytes]:
    """All reads to the end, and that there is an end."""
    reads = []
    while not transport.at_end:
        if data := transport.read(0.01):
            reads.append(data)
    return reads


def test_at_once_gives_every_recorded_read_and_then_silence(recording: Recording) -> None:
    transport = ReplayTransport(recording, speed=0)
    start = time.monotonic()
    assert [transport.read(5) for _ in READS] == READS
    assert time.monotonic() - start < 0.1
    assert not transport.at_end
    assert transport.read(0.01) == b""
    assert transport.at_end
    assert transport.read(0) == b""
    assert transport.position_ns == transport.duration_ns == 180 * MS


@pytest.mark.parametrize("speed", [1.0, 3.0])
def test_reads_come_at_the_recorded_pace_times_the_speed(recording: Recording, speed: float) -> None:
    start = time.monotonic()
    transport = ReplayTransport(recording, speed=speed)
    for expected, due in zip(READS, [0, 0.06, 0.12, 0.18], strict=True):
        assert transport.read(5) == expected
        assert due / speed <= time.monotonic() - start < due / speed + 1


def test_a_read_ends_after_its_time_where_nothing_is_due(recording: Recording) -> None:
    transport = ReplayTransport(recording, speed=0.001)
    assert transport.read(1) == b"a"
    start = time.monotonic()
    assert transport.read(0.05) == b""
    assert 0.04 < time.monotonic() - start < 1


def test_paused_it_gives_one_read_for_each_step(recording: Recording) -> None:
    transport = ReplayTransport(recording, paused=True)
    assert transport.read(0.02) == b""
    transport.step()
    transport.step()
    assert [transport.read(0.02) for _ in range(3)] == [b"a", b"b", b""]
    assert transport.position_ns == 60 * MS
    transport.resume()
    assert not transport.paused
    assert [transport.read(5) for _ in range(2)] == [b"c", b"d"]


def test_what_was_sent_and_said_is_overheard_before_the_read_that_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [(ASKED, 0, b"why?"), *EVENTS, (SENT, 190 * MS, b"last")]
    record(tmp_path / "a.mcap", events, monkeypatch)
    with Recording.open(tmp_path / "a.mcap") as recording:
        transport, seen = ReplayTransport(recording, speed=0), []
        transport.overhear = lambda transfer: seen.append(event_of(transfer))
        while not transport.at_end:
            if data := transport.read(0.01):
                seen.append((RECEIVED, transport.clock(), data))
    assert seen == events


def test_pausing_and_stepping_in_mid_run_holds_the_position(recording: Recording) -> None:
    transport = ReplayTransport(recording)
    assert transport.read(5) == b"a"
    transport.pause()
    held = transport.position_ns
    assert transport.read(0.08) == b""
    assert transport.position_ns == held < 60 * MS
    transport.step()
    assert transport.read(1) == b"b"
    assert transport.paused
    transport.speed = 0
    transport.resume()
    assert everything(transport) == [b"c", b"d"]


def test_resuming_wakes_a_read_that_waits(recording: Recording) -> None:
    transport = ReplayTransport(recording, paused=True)
    threading.Timer(0.05, transport.resume).start()
    start = time.monotonic()
    assert transport.read(30) == b"a"
    assert time.monotonic() - start < 5


def test_seeking_forward_brings_all_that_lies_between_at_once(recording: Recording) -> None:
    transport = ReplayTransport(recording, paused=True)
    transport.seek(120 * MS)
    assert [transport.read(0.01) for _ in range(4)] == [b"a", b"b", b"c", b""]
    assert transport.position_ns == 120 * MS
    with pytest.raises(ValueError, match="restarted"):
        transport.seek(0)
    transport.seek(10**15)
    assert everything(transport) == [b"d"]


def test_going_back_is_a_fresh_transport_that_hurries_to_the_moment(recording: Recording) -> None:
    transport = ReplayTransport(recording, speed=0)
    assert everything(transport) == READS
    again = ReplayTransport(recording, paused=True).restarted(60 * MS)
    assert [again.read(0.01) for _ in range(3)] == [b"a", b"b", b""]
    assert again.paused
    assert everything(transport.restarted()) == READS


def test_the_end_can_be_waited_for(recording: Recording) -> None:
    transport = ReplayTransport(recording, speed=0)
    assert not transport.wait_end(0.01)
    reader = threading.Thread(target=everything, args=(transport,))
    reader.start()
    assert transport.wait_end(5)
    reader.join()


def test_a_recording_answers_queries_by_what_is_in_it_and_refuses_everything_else(recording: Recording) -> None:
    transport: Transport = ReplayTransport(recording)
    transport.write(encode_frame(wire.MessageType.QUERY, 0, wire.Query(item=0).pack()))
    for type_ in set(wire.MessageType) - {wire.MessageType.QUERY}:
        with pytest.raises(BoardError, match="this is a recording"):
            transport.write(encode_frame(type_, 0, b""))


def test_closing_wakes_a_read_that_waits(recording: Recording) -> None:
    transport = ReplayTransport(recording, paused=True)
    threading.Timer(0.05, transport.close).start()
    with pytest.raises(BoardError, match="closed"):
        transport.read(30)
    with pytest.raises(BoardError, match="closed"):
        transport.write(b"")
    assert not transport.wait_end(5)


@pytest.mark.parametrize("speed", [-1, float("nan"), float("inf")])
def test_an_impossible_speed_is_a_plain_error(recording: Recording, speed: float) -> None:
    with pytest.raises(UserError, match="a speed of"):
        ReplayTransport(recording, speed=speed)
    transport = ReplayTransport(recording)
    with pytest.raises(UserError, match="a speed of"):
        transport.speed = speed
    assert transport.speed == 1


def bytes_of(*sizes: int) -> st.SearchStrategy[bytes]:
    return st.sampled_from(sizes).flatmap(lambda size: st.binary(min_size=size, max_size=size))


def frames(type_: wire.MessageType, payloads: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.builds(encode_frame, st.just(type_), st.integers(0, 65535), payloads, st.integers(0, 4))


#: Whatever a board may send: good frames, frames of no known layout, text with and without line ends, noise.
PIECES = st.one_of(
    frames(wire.MessageType.KERNELS, bytes_of(0, wire.KernelEvent.SIZE, 2 * wire.KernelEvent.SIZE, 65)),
    frames(wire.MessageType.TOTALS, bytes_of(wire.KernelTotal.SIZE, 2 * wire.KernelTotal.SIZE)),
    frames(wire.MessageType.TOKEN, bytes_of(wire.Token.SIZE, 3)),
    frames(wire.MessageType.LOG, st.binary(min_size=wire.Log.SIZE, max_size=80)),
    frames(wire.MessageType.HELLO, bytes_of(wire.Hello.SIZE)),
    frames(wire.MessageType.KV_STATE, bytes_of(wire.KvState.SIZE)),
    frames(wire.MessageType.STATUS, bytes_of(wire.Status.SIZE)),
    st.text(max_size=60).map(str.encode),
    st.text(max_size=60).map(lambda text: text.encode() + b"\n"),
    st.binary(max_size=60),
)


@st.composite
def chunked_streams(draw: st.DrawFn) -> list[bytes]:
    """A board's stream as some link might have read it."""
    stream = b"".join(draw(st.lists(PIECES, max_size=15)))
    cuts = sorted({0, len(stream), *draw(st.lists(st.integers(0, len(stream)), max_size=10))})
    return [stream[start:end] for start, end in pairwise(cuts)]


def fold(chunks: Sequence[bytes]) -> Snapshot:
    decoder, telemetry = Decoder(), Telemetry()
    for chunk in chunks:
        telemetry.accept(interpret(decoder.feed(chunk), decoder.counters), decoder.counters)
    return telemetry.snapshot()


@given(chunks=chunked_streams())
@settings(max_examples=100, deadline=None)
def test_any_stream_in_any_chunks_ends_in_the_same_snapshot(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("replay") / "a.mcap"
    making = Recorder(path, FACTS)
    for chunk in chunks:
        making.received(chunk, time.monotonic_ns())
        making.sent(b"between", time.monotonic_ns())
    making.close()
    with Recording.open(path) as recording:
        replayed = everything(ReplayTransport(recording, speed=0))
    assert replayed == chunks
    assert fold(replayed) == fold(chunks)


class Board:
    """A board that has this to say."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = iter(chunks)
        self.done = threading.Event()

    def read(self, timeout: float, /) -> bytes:
        chunk = next(self._chunks, None)
        if chunk is None:
            self.done.set()
            time.sleep(min(timeout, 0.001))
        return chunk or b""

    def write(self, data: bytes, /) -> None: ...

    def close(self) -> None: ...


def final(chunks: Sequence[bytes]) -> Snapshot:
    """What a link that reads these chunks, all at the same moment, has in the end."""
    board, telemetry = Board(chunks), Telemetry()
    link = Link(board, telemetry, clock=lambda: 0)
    assert board.done.wait(10)
    link.close()
    return telemetry.snapshot()


@given(stream=st.lists(PIECES, max_size=12).map(b"".join), cuts=st.lists(st.integers(0, 3000), max_size=10))
@example(stream=b"\0long " + b"x" * 9000 + b"\r\n" + b"y" * 4097, cuts=[1, 1030, 4102, 4103, 8200, 9006, 9007])
@example(stream=b"half a line", cuts=[4])
@example(stream=encode_frame(wire.MessageType.LOG, 0, bytes(4) + b"text in a frame that is cut off")[:-7], cuts=[9])
@settings(max_examples=60, deadline=None)
def test_the_final_snapshot_is_the_same_for_every_way_to_cut_a_stream(stream: bytes, cuts: list[int]) -> None:
    edges = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    whole = final([stream])
    assert final([stream[start:end] for start, end in pairwise(edges)]) == whole
    assert final([bytes([byte]) for byte in stream]) == whole
    assert whole.link.bytes == len(stream)


def test_a_link_over_a_replay_ends_in_the_snapshot_of_the_link_that_was_recorded(tmp_path: Path) -> None:
    events = b"".join(
        encode_frame(
            wire.MessageType.KERNELS,
            seq,
            wire.KernelEvent(
                kernel=seq % 18, core=seq % 4, layer=0, phase=seq & 1, step=seq, instructions=seq * 7,
                start_cycles=seq, cycles=seq * 3, work=seq, counters=(seq,) * 6,
            ).pack(),
        )
        for seq in range(500)
    )  # fmt: skip
    stream = b"boot\r\n" + events[:20_000] + b"\xff\xfe lost" + events[20_100:] + b"halted\n"
    board = Board([stream[at : at + 701] for at in range(0, len(stream), 701)])
    live, making = Telemetry(), Recorder(tmp_path / "a.mcap", FACTS)
    link = Link(board, live, observer=making)
    assert board.done.wait(10)
    link.close()
    making.close()
    with Recording.open(making.path) as recording:
        replayed, transport = Telemetry(), ReplayTransport(recording, speed=0)
        link = Link(transport, replayed, clock=transport.clock)
        assert transport.wait_end(10)
        link.close()
    assert replayed.snapshot() == live.snapshot()
    assert live.snapshot().events > 400
