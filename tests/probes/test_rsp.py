# SPDX-License-Identifier: Apache-2.0
"""Packets of the GDB remote protocol."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.probes.rsp import Packet, PacketParser, Signal, encode, escape, expand


@given(st.binary(max_size=300))
def test_escaped_data_comes_back(data: bytes) -> None:
    escaped = escape(data)
    assert not set(b"#$*").intersection(escaped)
    assert expand(escaped) == data


@given(
    st.lists(st.binary(max_size=60), max_size=8),
    st.integers(1, 17),
    st.binary(max_size=5).filter(lambda b: not set(b) & set(b"$%+-#")),
)
def test_packets_are_found_however_the_stream_is_cut(payloads: list[bytes], step: int, noise: bytes) -> None:
    stream = b"".join(noise + encode(escape(payload)) + b"+" for payload in payloads)
    parser = PacketParser()
    found = [item for at in range(0, len(stream), step) for item in parser.feed(stream[at : at + step])]
    assert [item.payload for item in found if isinstance(item, Packet)] == payloads
    assert found.count(Signal.ACK) == len(payloads)


@given(st.binary(max_size=400))
def test_any_bytes_are_survived(data: bytes) -> None:
    parser = PacketParser()
    parser.feed(data)
    parser.feed(b"#00" + b"#00")  # whatever packet was open is closed
    assert Packet(b"OK") in parser.feed(encode(b"OK"))


@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_flipped_bit_is_noticed(payload: bytes, data: st.DataObject) -> None:
    packet = bytearray(encode(escape(payload)))
    at = data.draw(st.integers(1, len(packet) - 4))
    packet[at] ^= 1 << data.draw(st.integers(0, 7))
    if packet[at] not in b"#$":  # those change where the packet is, not what is in it
        assert PacketParser().feed(bytes(packet)) == [Signal.CORRUPT]


@pytest.mark.parametrize(
    ("raw", "data"), [(b"0* ", b"0000"), (b'a*"b', b"aaaaaab"), (b"}\x03", b"#"), (b"x}]*!", b"x}}}}}")]
)
def test_run_lengths_are_expanded(raw: bytes, data: bytes) -> None:
    assert expand(raw) == data


@pytest.mark.parametrize("raw", [b"*!", b"a*", b"a}", b"a*\x1d"])
def test_malformed_runs_are_corrupt(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"packet|run"):
        expand(raw)
    assert PacketParser().feed(encode(raw)) == [Signal.CORRUPT]


def test_notifications_are_told_apart() -> None:
    assert PacketParser().feed(b"%Stop:T05#" + b"%02x" % (sum(b"Stop:T05") & 255)) == [
        Packet(b"Stop:T05", notification=True)
    ]
