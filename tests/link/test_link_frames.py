# SPDX-License-Identifier: Apache-2.0
"""The decoder gives the same frames and text for every way to cut a stream, and survives any bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maxconsole.link.frames import PAYLOAD_MAX, Decoder, Frame, Item, Text, encode_frame, looks_like_text

payloads = st.one_of(
    st.binary(max_size=PAYLOAD_MAX), st.binary(min_size=250, max_size=260), st.just(bytes(PAYLOAD_MAX))
)
frames = st.builds(
    Frame,
    type=st.integers(1, 8),
    core=st.integers(0, 3),
    seq=st.integers(0, 65535),
    payload=payloads,
)
text_lines = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=100).map(
    lambda line: f"{line}\r\n".encode()
)
pieces = st.lists(
    st.one_of(frames.map(lambda f: encode_frame(f.type, f.seq, f.payload, f.core)), text_lines, st.binary(max_size=60))
)
streams = pieces.map(b"".join)


def merged(items: list[Item]) -> list[Item]:
    """Neighboring texts joined: how a line is split into Text items depends on the chunks, its content must not."""
    result: list[Item] = []
    for item in items:
        if isinstance(item, Text) and result and isinstance(result[-1], Text):
            result[-1] = Text(result[-1].data + item.data)
        else:
            result.append(item)
    return result


def decoded(chunks: list[bytes]) -> tuple[list[Item], Decoder]:
    decoder = Decoder()
    items = [item for chunk in chunks for item in decoder.feed(chunk)]
    return merged(items), decoder


@given(st.lists(frames, max_size=5))
def test_frames_come_out_as_they_went_in(sent: list[Frame]) -> None:
    stream = b"".join(encode_frame(f.type, f.seq, f.payload, f.core) for f in sent)
    items, decoder = decoded([stream])
    assert items == sent
    assert decoder.counters.frames == len(sent)
    assert decoder.counters.bad_frames == 0


@given(streams, st.lists(st.integers(0, 4000), max_size=12))
@example(b"ab\nxyz\0", [1])
@example(b"\x01\x02\n" * 600, [1, 900])
@example(b"no line end " * 200, [5, 1024, 1029, 1030, 1031])
def test_any_split_decodes_the_same(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    whole, one = decoded([stream, b"\0"])
    split, other = decoded([*(stream[a:b] for a, b in pairwise(edges)), b"\0"])
    assert split == whole
    assert one.counters == other.counters


@given(streams)
def test_one_byte_at_a_time_decodes_the_same(stream: bytes) -> None:
    whole, _ = decoded([stream, b"\0"])
    single, _ = decoded([*(bytes([byte]) for byte in stream), b"\0"])
    assert single == whole


@given(st.binary(max_size=3000), frames)
def test_garbage_never_raises_and_the_next_frame_is_found(garbage: bytes, frame: Frame) -> None:
    decoder = Decoder()
    decoder.feed(garbage)
    items = decoder.feed(encode_frame(frame.type, frame.seq, frame.payload, frame.core))
    assert items[-1] == frame


@given(frames, st.data())
def test_a_flipped_bit_is_never_a_frame(frame: Frame, data: st.DataObject) -> None:
    encoded = bytearray(encode_frame(frame.type, frame.seq, frame.payload, frame.core))
    at = data.draw(st.integers(1, len(encoded) - 2))
    encoded[at] ^= 1 << data.draw(st.integers(0, 7))
    items, _ = decoded([bytes(encoded)])
    assert not any(isinstance(item, Frame) for item in items)


def test_text_between_frames_is_kept_in_order() -> None:
    first, second = encode_frame(2, 0, b"one"), encode_frame(2, 1, b"two")
    items, _ = decoded([b"U-Boot 2024.01\r\n" + first + b"tail without end" + second])
    assert items == [
        Text(b"U-Boot 2024.01\r\n"),
        Frame(2, 0, 0, b"one"),
        Text(b"tail without end"),
        Frame(2, 0, 1, b"two"),
    ]


def test_a_whole_line_is_not_held_back() -> None:
    decoder = Decoder()
    assert decoder.feed(b"hel") == []
    assert decoder.feed("lo, 世界\nnext".encode()) == [Text("hello, 世界\n".encode())]
    assert decoder.unfinished == b"next"
    assert decoder.feed(b" one") == []
    assert decoder.finish() == [Text(b"next one")]
    assert decoder.finish() == []


@pytest.mark.parametrize("core", range(4))
@pytest.mark.parametrize("payload", [bytes(100), b"all of this is text"])
def test_half_a_frame_is_no_text(payload: bytes, core: int) -> None:
    frame = encode_frame(3, 7, payload, core)
    decoder = Decoder()
    assert decoder.feed(frame[:-4]) == []
    assert decoder.unfinished == b""
    assert decoder.feed(frame[-4:]) == [Frame(3, core, 7, payload)]
    decoder.feed(frame[:-4])
    assert decoder.finish() == []


def test_a_stream_without_zeros_does_not_pile_up() -> None:
    decoder = Decoder()
    items = [item for _ in range(100) for item in decoder.feed(b"x" * 500)]
    assert sum(len(item.data) for item in items if isinstance(item, Text)) >= 49_000


def sequence_counters(*seqs: int) -> tuple[int, int]:
    _, decoder = decoded([encode_frame(2, seq, b"") for seq in seqs])
    return decoder.counters.lost_frames, decoder.counters.restarts


def test_gaps_in_the_sequence_are_counted() -> None:
    assert sequence_counters(5, 6, 7) == (0, 0)
    assert sequence_counters(5, 9) == (3, 0)
    assert sequence_counters(65535, 0, 2) == (1, 0)
    assert sequence_counters(500, 0, 1) == (0, 1)


def test_every_core_numbers_its_own_frames() -> None:
    order = ((0, 10), (1, 900), (0, 11), (1, 901), (3, 5), (1, 903), (0, 12))
    _, decoder = decoded([encode_frame(4, seq, b"", core) for core, seq in order])
    assert (decoder.counters.lost_frames, decoder.counters.restarts) == (1, 0)


def test_a_corrupt_frame_is_counted_as_bad_and_as_missing() -> None:
    damaged = bytearray(encode_frame(4, 1, bytes(range(200))))
    damaged[100] ^= 0xFF
    _, decoder = decoded([encode_frame(2, 0, b""), bytes(damaged), encode_frame(2, 2, b"")])
    assert (decoder.counters.bad_frames, decoder.counters.lost_frames) == (1, 1)


def test_a_payload_that_is_too_long_is_refused() -> None:
    encode_frame(1, 0, bytes(PAYLOAD_MAX))
    with pytest.raises(ValueError, match="1016 is the most"):
        encode_frame(1, 0, bytes(PAYLOAD_MAX + 1))


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"panic: x0=1\n", True), ("größer".encode(), True), (b"\x02\x01\x05\xff\xfe\x80", False), (b"abc\xff", True)],
)
def test_text_is_told_from_garbage(data: bytes, text: bool) -> None:
    assert looks_like_text(data) is text
