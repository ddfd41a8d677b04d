# SPDX-License-Identifier: Apache-2.0
"""Reading recordings: searching by time, refusing what is none, and getting the rest out of damaged ones."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path
from typing import IO

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from mcap.writer import Writer
from recording_files import FACTS, RECEIVED, SENT, Event, contents, event_of, record

from maxconsole.errors import UserError
from maxconsole.recording import Recording, facts, layout
from maxconsole.recording.container import CHUNK_MAX

CHUNKS = 12


@pytest.fixture(scope="module")
def events() -> list[Event]:
    source = random.Random(3)
    return [
        (source.choice([RECEIVED, RECEIVED, SENT]), 1_000 * at, source.randbytes(source.randrange(1, 300)))
        for at in range(CHUNKS)
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, events: list[Event]) -> bytes:
    """A recording with one transfer in each of its chunks."""
    path = tmp_path_factory.mktemp("whole") / "a.mcap"
    with pytest.MonkeyPatch.context() as patch:
        record(path, events, patch, chunks=True)
    return path.read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "a.mcap"


def chunk_offsets(data: bytes) -> list[int]:
    offsets, at = [], 8
    while data[at] != 0x0F:
        if data[at] == 0x06:
            offsets.append(at)
        at += 9 + struct.unpack_from("<Q", data, at + 1)[0]
    assert len(offsets) == CHUNKS
    return offsets


def test_transfers_from_a_moment_on_are_those_that_came_then_or_later(
    whole: bytes, events: list[Event], place: Path
) -> None:
    place.write_bytes(whole)
    with Recording.open(place) as recording:
        for start in [0, 1, 999, 1_000, 5_500, 11_000, 11_001, 10**12]:
            got = [event_of(transfer) for transfer in recording.transfers(start)]
            assert got == [event for event in events if event[1] >= start]


def test_a_kill_anywhere_after_the_facts_keeps_every_whole_chunk(
    whole: bytes, events: list[Event], place: Path
) -> None:
    offsets = chunk_offsets(whole)
    around = {end + by for end in offsets for by in (-1, 0, 1, 9, 53)} - {offsets[0] - 1}
    for cut in {*range(offsets[0], len(whole), 31), *around}:
        place.write_bytes(whole[:cut])
        complete = sum(end <= cut for end in offsets[1:])
        got = contents(place)
        assert got == events[: len(got)]
        assert complete <= len(got) <= complete + 1


def test_a_cut_within_the_facts_is_a_plain_error(whole: bytes, place: Path) -> None:
    for cut in range(0, chunk_offsets(whole)[0], 7):
        place.write_bytes(whole[:cut])
        with pytest.raises(UserError):
            Recording.open(place)


def test_a_damaged_chunk_costs_only_itself_and_is_reported(whole: bytes, events: list[Event], place: Path) -> None:
    for number, offset in enumerate(chunk_offsets(whole)):
        damaged = bytearray(whole)
        damaged[offset + 60] ^= 0x10
        place.write_bytes(damaged)
        assert contents(place) == events[:number] + events[number + 1 :]
        with Recording.open(place) as recording:
            loss = recording.check()
            assert (loss.closed, loss.damaged_chunks, loss.unreadable_bytes) == (True, 1, 0)
            later = any(channel is events[number][0] for channel, _, _ in events[number + 1 :])
            assert loss.missing_transfers == (1 if later else 0)
            assert "1 damaged chunks" in str(loss)


@pytest.mark.parametrize("hit", [0, 1, 8, 37, 45], ids=["opcode", "length", "length's top", "name's size", "size"])
def test_without_an_index_the_next_chunk_after_a_damaged_head_is_found(
    whole: bytes, events: list[Event], place: Path, hit: int
) -> None:
    offsets = chunk_offsets(whole)
    damaged = bytearray(whole[: offsets[-1]])
    damaged[offsets[4] + hit] ^= 0x41
    place.write_bytes(damaged)
    assert contents(place) == events[:4] + events[5:-1]
    with Recording.open(place) as recording:
        loss = recording.check()
        assert not loss.closed
        assert loss.unreadable_bytes == offsets[5] - offsets[4]
        assert loss.missing_transfers == 1


def test_a_damaged_index_is_made_anew(whole: bytes, events: list[Event], place: Path) -> None:
    place.write_bytes(whole[:-60] + bytes([whole[-60] ^ 1]) + whole[-59:])
    assert contents(place) == events


@given(data=st.data())
def test_damage_never_breaks_the_reader_or_brings_bytes_that_were_not_recorded(
    whole: bytes, events: list[Event], place: Path, data: st.DataObject
) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    place.write_bytes(damaged[: data.draw(st.integers(0, len(whole)))] if data.draw(st.booleans()) else damaged)
    try:
        recording = Recording.open(place)
    except UserError:
        return
    with recording:
        got = [(transfer.channel, transfer.data) for transfer in recording.transfers()]
        known = [(channel, content) for channel, _, content in events]
        assert [one for one in known if one in got] == got
        recording.check()


@given(content=st.binary(max_size=200), magic=st.booleans())
def test_foreign_bytes_are_a_plain_error(place: Path, content: bytes, magic: bool) -> None:
    place.write_bytes((b"\x89MCAP0\r\n" if magic else b"") + content)
    with pytest.raises(UserError):
        Recording.open(place)


def test_what_is_no_recording_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bytes) -> None:
    with pytest.raises(UserError, match="No such file"):
        Recording.open(tmp_path / "missing.mcap")
    with pytest.raises(UserError, match="is not a file"):
        Recording.open(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="is not a file"):
        Recording.open(tmp_path / "pipe")
    path = tmp_path / "a.mcap"
    path.touch()
    with pytest.raises(UserError, match="is empty"):
        Recording.open(path)
    path.write_text("not at all")
    with pytest.raises(UserError, match="is not a recording"):
        Recording.open(path)
    with path.open("wb") as file:
        foreign(file)
    with pytest.raises(UserError, match="of another program"):
        Recording.open(path)
    monkeypatch.setattr("maxconsole.recording.facts.FORMAT", layout.FORMAT + 1)
    path.write_bytes(whole)
    with pytest.raises(UserError, match="by a newer console"):
        Recording.open(path)


def foreign(file: IO[bytes]) -> None:
    writer = Writer(file)
    writer.start("ros2")
    channel = writer.register_channel("topic", "", 0)
    writer.add_message(channel, 0, b"", 0)
    writer.finish()  # type: ignore[no-untyped-call]


def test_a_chunk_that_would_fill_the_memory_is_left_out(whole: bytes, events: list[Event], place: Path) -> None:
    offset = chunk_offsets(whole)[3]
    bomb = bytearray(whole)
    struct.pack_into("<Q", bomb, offset + 25, CHUNK_MAX + 1)
    place.write_bytes(bomb)
    assert contents(place) == events[:3] + events[4:]
    # A frame that claims to hold a terabyte, in a chunk that claims what was there.
    frame = offset + 53
    header = zstandard.get_frame_parameters(whole[frame:])
    assert header.content_size < 1 << 16
    bomb = bytearray(whole)
    bomb[frame + 4 : frame + 13] = b"\xe0" + struct.pack("<Q", 1 << 40)
    place.write_bytes(bomb)
    assert contents(place) == events[:3] + events[4:]


def test_several_readers_do_not_disturb_each_other(whole: bytes, events: list[Event], place: Path) -> None:
    place.write_bytes(whole)
    with Recording.open(place) as recording:
        pairs = list(zip(recording.transfers(), recording.transfers(), strict=True))
    assert [(event_of(one), event_of(other)) for one, other in pairs] == [(event, event) for event in events]


def test_facts_of_the_wrong_type_are_refused() -> None:
    attachments = {name: data for name, (_, data) in FACTS.attachments().items()}
    assert facts.read_facts(attachments, "a") == FACTS
    for session in (b"[]", b"{", b'{"format": 1, "board": 3}', b'{"format": 1, "surprise": "x"}', b'{"format": 1}'):
        with pytest.raises(UserError, match=r"session\.json is missing or damaged"):
            facts.read_facts({**attachments, "session.json": session}, "a")
