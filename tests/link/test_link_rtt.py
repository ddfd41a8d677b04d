# SPDX-License-Identifier: Apache-2.0
"""RTT rings over memory with and without views: order, wrap-around, stalls, and control blocks that are wrong."""

from __future__ import annotations

import struct
import threading
import time

import pytest
from board_memory import BASE, BLOCK, SIZE, BoardMemory
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.errors import BoardError
from maxconsole.link.rtt import RttTransport

both = pytest.mark.parametrize("shared", [True, False], ids=["shared", "copied"])


@both
@given(messages=st.lists(st.binary(max_size=40), max_size=30), ring=st.integers(16, 80))
def test_what_the_board_writes_arrives_in_order_across_wraps(shared: bool, messages: list[bytes], ring: int) -> None:
    memory = BoardMemory(shared=shared, up_bytes=ring)
    transport = RttTransport(memory, BLOCK)
    received = b""
    for message in messages:
        rest = message
        while rest:
            rest = memory.board_writes(rest)
            received += transport.read(0)
    assert received == b"".join(messages)
    assert transport.read(0) == b""
    transport.close()


@both
@given(messages=st.lists(st.binary(max_size=15), max_size=30))
def test_what_the_console_writes_arrives_in_order_across_wraps(shared: bool, messages: list[bytes]) -> None:
    memory = BoardMemory(shared=shared, down_bytes=16)
    transport = RttTransport(memory, BLOCK)
    received = b""
    for message in messages:
        transport.write(message)
        received += memory.board_reads()
    assert received == b"".join(messages)
    transport.close()


@both
def test_a_write_longer_than_the_ring_waits_for_the_board(shared: bool) -> None:
    memory = BoardMemory(shared=shared, down_bytes=16)
    transport = RttTransport(memory, BLOCK)
    data = bytes(range(200))
    writer = threading.Thread(target=transport.write, args=(data,))
    writer.start()
    received = b""
    end = time.monotonic() + 5
    while len(received) < len(data) and time.monotonic() < end:
        received += memory.board_reads()
    writer.join()
    assert received == data


def test_a_board_that_stops_reading_is_reported() -> None:
    transport = RttTransport(BoardMemory(shared=True, down_bytes=16), BLOCK, stall_timeout=0.05)
    with pytest.raises(BoardError, match=r"not read its command ring for 0.05 s"):
        transport.write(bytes(100))


def test_read_returns_when_data_comes_and_when_time_is_over() -> None:
    memory = BoardMemory(shared=True)
    transport = RttTransport(memory, BLOCK)
    start = time.monotonic()
    assert transport.read(0.05) == b""
    assert 0.05 <= time.monotonic() - start < 1
    threading.Timer(0.05, memory.board_writes, args=(b"late",)).start()
    assert transport.read(10) == b"late"


def test_an_idle_link_hardly_uses_the_processor() -> None:
    transport = RttTransport(BoardMemory(shared=True), BLOCK)
    before = time.thread_time()
    transport.read(0.5)
    assert time.thread_time() - before < 0.05


@both
@pytest.mark.parametrize(
    ("offset", "patch", "message"),
    [
        (0, b"garbage", "no RTT control block"),
        (16, struct.pack("<i", 0), "claims 0 up and 1 down rings"),
        (20, struct.pack("<i", -1), "claims 1 up and -1 down rings"),
        (16, struct.pack("<i", 17), "claims 17 up"),
        (24 + 16, struct.pack("<I", 3), "up ring claims a size of 3 bytes"),
        (24 + 16, struct.pack("<I", 0xFFFFFFFF), "up ring claims a size"),
        (56 + 16, struct.pack("<I", 0), "down ring claims a size of 0 bytes"),
    ],
)
def test_a_control_block_that_cannot_be_right_is_refused(shared: bool, offset: int, patch: bytes, message: str) -> None:
    memory = BoardMemory(shared=shared)
    memory.patch(offset, patch)
    with pytest.raises(BoardError, match=message):
        RttTransport(memory, BLOCK)


@pytest.mark.parametrize(("ring", "name"), [(24, "up"), (56, "down")])
def test_a_ring_outside_memory_is_refused(ring: int, name: str) -> None:
    memory = BoardMemory(shared=True)
    memory.patch(ring + 8, struct.pack("<Q", BASE + SIZE - 4))
    with pytest.raises(BoardError, match=f"{name} ring claims to be at 0x80003ffc"):
        RttTransport(memory, BLOCK)


@both
@pytest.mark.parametrize("word", [20, 24])
def test_offsets_that_turn_to_garbage_are_reported(shared: bool, word: int) -> None:
    memory = BoardMemory(shared=shared)
    transport = RttTransport(memory, BLOCK)
    memory.patch(24 + word, struct.pack("<I", 64))
    with pytest.raises(BoardError, match="up ring of 64 bytes says"):
        transport.read(0)
    memory.patch(56 + word, struct.pack("<I", 0xDEADBEEF))
    with pytest.raises(BoardError, match="down ring of 64 bytes says"):
        transport.write(b"x")


@given(st.binary(min_size=88, max_size=88), st.booleans())
def test_random_control_blocks_only_ever_raise_board_errors(block: bytes, keep_id: bool) -> None:
    memory = BoardMemory(shared=True)
    memory.patch(16 if keep_id else 0, block[16 if keep_id else 0 :])
    try:
        transport = RttTransport(memory, BLOCK, stall_timeout=0)
        transport.read(0)
        transport.write(b"abc")
    except BoardError:
        pass


def test_attach_waits_for_the_firmware() -> None:
    memory = BoardMemory(shared=True)
    memory.patch(0, bytes(16))
    threading.Timer(0.05, memory.patch, args=(0, b"SEGGER RTT")).start()
    transport = RttTransport.attach(memory, BLOCK, timeout=10)
    memory.board_writes(b"hi")
    assert transport.read(1) == b"hi"


def test_attach_gives_up_and_says_where_to_look() -> None:
    memory = BoardMemory(shared=True)
    memory.patch(0, b"SEGGER\0\0\0\0")
    with pytest.raises(BoardError, match=r"within 0\.02 s") as caught:
        RttTransport.attach(memory, BLOCK, timeout=0.02)
    assert "UART" in caught.value.hint


def test_attach_stops_waiting_when_the_board_has_died() -> None:
    memory = BoardMemory(shared=True)
    memory.patch(0, bytes(16))

    def check() -> None:
        raise BoardError("QEMU has ended")

    with pytest.raises(BoardError, match="QEMU has ended"):
        RttTransport.attach(memory, BLOCK, timeout=10, check=check)


def test_a_closed_transport_keeps_no_view_and_says_so() -> None:
    memory = BoardMemory(shared=True)
    transport = RttTransport(memory, BLOCK)
    transport.close()
    transport.close()
    memory.data.extend(b"resizing a bytearray fails while a view of it exists")
    with pytest.raises(BoardError, match="closed"):
        transport.read(0)
