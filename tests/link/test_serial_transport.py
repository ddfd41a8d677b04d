# SPDX-License-Identifier: Apache-2.0
"""The serial transport over real pseudo-terminals: what goes through, and what happens when the other end goes."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from serial_ends import PtyBoard

from maxconsole.errors import BoardError
from maxconsole.link import serial as serial_link
from maxconsole.link.client import Link
from maxconsole.link.frames import Counters, Decoder, Frame, encode_frame
from maxconsole.link.messages import News
from maxconsole.link.serial import SerialTransport
from maxconsole.schema import wire


@pytest.fixture
def board() -> Iterator[PtyBoard]:
    board = PtyBoard()
    yield board
    board.unplug()


@pytest.fixture
def transport(board: PtyBoard) -> Iterator[SerialTransport]:
    transport = SerialTransport(str(board.port))
    yield transport
    transport.close()


def read_exactly(transport: SerialTransport, size: int) -> bytes:
    data = b""
    deadline = time.monotonic() + 10
    while len(data) < size and time.monotonic() < deadline:
        data += transport.read(0.2)
    return data


def test_every_byte_value_goes_through_unchanged_both_ways(board: PtyBoard, transport: SerialTransport) -> None:
    every = bytes(range(256)) * 8
    board.send(every)
    assert read_exactly(transport, len(every)) == every
    transport.write(every)
    assert board.receive(len(every)) == every


def test_nothing_within_the_time_is_empty_and_takes_that_long(transport: SerialTransport) -> None:
    start = time.monotonic()
    assert transport.read(0.05) == b""
    assert 0.04 < time.monotonic() - start < 1
    assert transport.read(0) == b""


def test_a_read_returns_as_soon_as_anything_has_come(board: PtyBoard, transport: SerialTransport) -> None:
    threading.Timer(0.05, board.send, args=(b"up",)).start()
    start = time.monotonic()
    assert transport.read(10) == b"up"
    assert time.monotonic() - start < 5


def test_more_than_the_terminal_holds_goes_through(board: PtyBoard, transport: SerialTransport) -> None:
    data = random.Random(1).randbytes(300_000)
    sender = threading.Thread(target=board.send, args=(data,))
    sender.start()
    assert read_exactly(transport, len(data)) == data
    sender.join()
    received: list[bytes] = []
    receiver = threading.Thread(target=lambda: received.append(board.receive(len(data))))
    receiver.start()
    transport.write(data)
    receiver.join(10)
    assert received == [data]


def test_unplugging_is_a_plain_error(board: PtyBoard, transport: SerialTransport) -> None:
    board.unplug()
    with pytest.raises(BoardError, match="unplugged"):
        transport.read(1)
    with pytest.raises(BoardError, match="unplugged"):
        transport.write(b"hello")
    with pytest.raises(BoardError, match="unplugged"):
        transport.read(1)


def test_unplugging_wakes_a_read_that_waits(board: PtyBoard, transport: SerialTransport) -> None:
    threading.Timer(0.05, board.unplug).start()
    start = time.monotonic()
    with pytest.raises(BoardError, match="unplugged"):
        transport.read(30)
    assert time.monotonic() - start < 5


def test_closing_wakes_a_read_that_waits_and_may_be_repeated(transport: SerialTransport) -> None:
    threading.Timer(0.05, transport.close).start()
    start = time.monotonic()
    transport.read(30)
    assert time.monotonic() - start < 5
    transport.close()
    with pytest.raises(BoardError, match="has been closed"):
        transport.read(0)
    with pytest.raises(BoardError, match="has been closed"):
        transport.write(b"x")


def test_closing_after_the_board_is_gone_is_harmless(board: PtyBoard, transport: SerialTransport) -> None:
    board.unplug()
    transport.close()


def test_a_board_that_takes_nothing_is_a_plain_error(
    transport: SerialTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serial_link, "_WRITE_PATIENCE", 0.1)
    with pytest.raises(BoardError, match="takes no bytes"):
        transport.write(bytes(1 << 20))


def test_closing_ends_a_write_that_waits(transport: SerialTransport) -> None:
    threading.Timer(0.05, transport.close).start()
    start = time.monotonic()
    with pytest.raises(BoardError, match="has been closed"):
        transport.write(bytes(1 << 20))
    assert time.monotonic() - start < 4


def test_the_boot_roms_noise_at_another_rate_does_not_cost_a_frame(board: PtyBoard, transport: SerialTransport) -> None:
    noise = random.Random(2).randbytes(2000)
    frames = b"".join(encode_frame(wire.MessageType.TOKEN, seq, bytes(16)) for seq in range(50))
    board.send(noise + frames)
    decoder = Decoder()
    items = decoder.feed(read_exactly(transport, len(noise) + len(frames)))
    assert [item.seq for item in items if isinstance(item, Frame)] == list(range(50))


class Ignore:
    def accept(self, news: Sequence[News], counters: Counters, at_ns: int, /) -> None: ...


def test_a_link_talks_over_it_and_reports_the_unplugging(board: PtyBoard, transport: SerialTransport) -> None:
    link = Link(transport, Ignore())

    def answer() -> None:
        (ping,) = Decoder().feed(board.receive(len(encode_frame(wire.MessageType.PING, 0, bytes(4)))))
        assert isinstance(ping, Frame)
        reply = wire.Reply(command=ping.type, status=0, command_seq=ping.seq, value=7)
        board.send(encode_frame(wire.MessageType.REPLY, 0, reply.pack()))

    thread = threading.Thread(target=answer)
    thread.start()
    assert link.request(wire.Ping(nonce=7)).value == 7
    thread.join()
    board.unplug()
    with pytest.raises(BoardError, match="unplugged"):
        link.receive(5)
    link.close()
