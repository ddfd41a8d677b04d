# SPDX-License-Identifier: Apache-2.0
"""The link: commands and answers, time-outs, what the sink sees, and failures of the transport."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from maxconsole.errors import BoardError
from maxconsole.link.client import Link, RefusedError
from maxconsole.link.frames import Counters, Decoder, Frame, Text, Unfinished, encode_frame
from maxconsole.link.messages import News
from maxconsole.schema import wire


class Wire:
    """A transport whose other end is the test."""

    def __init__(self) -> None:
        self.incoming: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
        self.sent = bytearray()
        self.closed = False
        self.answer: wire.Reply | None = None

    def read(self, timeout: float, /) -> bytes:
        try:
            got = self.incoming.get(timeout=timeout)
        except queue.Empty:
            return b""
        if isinstance(got, Exception):
            raise got
        return got

    def write(self, data: bytes, /) -> None:
        self.sent += data
        for item in Decoder().feed(data):
            if isinstance(item, Frame) and self.answer is not None:
                reply = wire.Reply(
                    command=item.type,
                    status=self.answer.status,
                    command_seq=item.seq,
                    value=self.answer.value,
                    tail=self.answer.tail,
                )
                self.incoming.put(encode_frame(wire.MessageType.REPLY, 0, reply.pack()))

    def close(self) -> None:
        self.closed = True


class Record:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.chunks = 0
        self.counters = Counters()
        self.arrived = threading.Event()

    def accept(self, news: Sequence[News], counters: Counters, at_ns: int, /) -> None:
        self.news += news
        self.chunks += 1
        self.counters = counters
        self.arrived.set()


def reply(status: int = wire.ReplyStatus.OK, value: int = 0, tail: bytes = b"") -> wire.Reply:
    return wire.Reply(command=0, status=status, command_seq=0, value=value, tail=tail)


TOKEN = wire.Token(request=1, position=2, token=3, logprob=-0.25)


@pytest.fixture
def other_end() -> Wire:
    return Wire()


@pytest.fixture
def sink() -> Record:
    return Record()


@pytest.fixture
def link(other_end: Wire, sink: Record) -> Iterator[Link]:
    link = Link(other_end, sink)
    yield link
    link.close()


def test_a_command_gets_its_own_answer(link: Link, other_end: Wire) -> None:
    other_end.answer = reply(value=77)
    assert link.request(wire.Ping(nonce=77)).value == 77
    sent = Decoder().feed(bytes(other_end.sent))
    assert sent == [Frame(wire.MessageType.PING, 0, 0, wire.Ping(nonce=77).pack())]


def test_a_command_without_payload_is_sent_by_its_type(link: Link, other_end: Wire) -> None:
    other_end.answer = reply()
    link.request(wire.MessageType.RESET_KV)
    assert Decoder().feed(bytes(other_end.sent)) == [Frame(wire.MessageType.RESET_KV, 0, 0, b"")]


def test_commands_are_numbered(link: Link, other_end: Wire) -> None:
    link.send(wire.Ping(nonce=0))
    link.send(wire.Ping(nonce=1))
    seqs = [item.seq for item in Decoder().feed(bytes(other_end.sent)) if isinstance(item, Frame)]
    assert seqs == [0, 1]


def test_a_refusal_carries_the_boards_reason_without_control_bytes(link: Link, other_end: Wire) -> None:
    other_end.answer = reply(wire.ReplyStatus.OUT_OF_RANGE, tail=b"window \x1b[31m too long")
    with pytest.raises(RefusedError) as caught:
        link.request(wire.Query(item=0))
    assert caught.value.status == wire.ReplyStatus.OUT_OF_RANGE
    assert str(caught.value) == "the board refused query: out of range: window \\x1b[31m too long"


def test_a_status_from_a_newer_protocol_is_shown_as_a_number(link: Link, other_end: Wire) -> None:
    other_end.answer = reply(99)
    with pytest.raises(RefusedError, match="the board refused ping: 99"):
        link.request(wire.Ping(nonce=0))


def test_no_answer_is_a_board_error_that_says_what_to_do(link: Link) -> None:
    with pytest.raises(BoardError, match=r"no answer to PING within 0\.05 s") as caught:
        link.request(wire.Ping(nonce=0), timeout=0.05)
    assert caught.value.hint


def test_an_answer_to_another_command_is_not_taken(link: Link, other_end: Wire) -> None:
    stray = wire.Reply(command=wire.MessageType.PING, status=0, command_seq=999, value=0)
    other_end.incoming.put(encode_frame(wire.MessageType.REPLY, 0, stray.pack()))
    with pytest.raises(BoardError, match="no answer"):
        link.request(wire.Ping(nonce=0), timeout=0.1)


def test_tokens_are_received_in_order_and_the_sink_sees_everything(link: Link, other_end: Wire, sink: Record) -> None:
    batch = encode_frame(wire.MessageType.KERNELS, 1, bytes(wire.KernelEvent.SIZE))
    other_end.incoming.put(encode_frame(wire.MessageType.TOKEN, 0, TOKEN.pack()) + batch + b"boot text\n")
    assert link.receive(5) == TOKEN
    assert link.receive(0) is None
    assert sink.news == [TOKEN, Frame(wire.MessageType.KERNELS, 0, 1, bytes(64)), Text(b"boot text\n")]
    assert sink.chunks == 1


def test_malformed_and_unknown_frames_are_counted_and_left_out(link: Link, other_end: Wire, sink: Record) -> None:
    stream = encode_frame(wire.MessageType.TOKEN, 0, b"short") + encode_frame(wire.MessageType.KERNELS, 1, bytes(65))
    other_end.incoming.put(stream + encode_frame(50, 2, b"") + encode_frame(wire.MessageType.TOKEN, 3, TOKEN.pack()))
    assert link.receive(5) == TOKEN
    assert (link.counters.malformed_frames, link.counters.unknown_frames) == (2, 1)
    assert sink.news == [TOKEN]


def test_text_without_a_line_end_appears_after_a_while(link: Link, other_end: Wire, sink: Record) -> None:
    other_end.incoming.put(b"login: ")
    end = time.monotonic() + 5
    while not sink.news and time.monotonic() < end:
        time.sleep(0.01)
    assert sink.news == [Unfinished(b"login: ")]
    other_end.incoming.put(b"root\nmore")
    while len(sink.news) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    link.close()
    assert sink.news[1:] == [Text(b"login: root\n"), Unfinished(b"more"), Text(b"more")]


def test_the_sink_hears_of_every_chunk_also_of_one_that_completes_nothing(
    link: Link, other_end: Wire, sink: Record
) -> None:
    frame = encode_frame(wire.MessageType.TOKEN, 0, TOKEN.pack())
    other_end.incoming.put(frame[:9])
    assert sink.arrived.wait(5)
    assert (sink.news, sink.counters.bytes) == ([], 9)
    other_end.incoming.put(frame[9:])
    assert link.receive(5) == TOKEN
    assert (sink.chunks, sink.counters.bytes) == (2, len(frame))


def test_a_transport_that_fails_wakes_and_fails_everyone(link: Link, other_end: Wire) -> None:
    other_end.incoming.put(encode_frame(wire.MessageType.TOKEN, 0, TOKEN.pack()))
    threading.Timer(0.05, other_end.incoming.put, args=(BoardError("unplugged"),)).start()
    start = time.monotonic()
    with pytest.raises(BoardError, match="unplugged"):
        link.request(wire.Ping(nonce=0), timeout=30)
    assert time.monotonic() - start < 5
    assert link.receive(1) == TOKEN
    with pytest.raises(BoardError, match="unplugged"):
        link.receive(1)
    with pytest.raises(BoardError, match="unplugged"):
        link.send(wire.Ping(nonce=0))


def test_an_error_in_the_sink_is_not_swallowed(other_end: Wire) -> None:
    class Broken:
        def accept(self, news: Sequence[News], counters: Counters, at_ns: int, /) -> None:
            raise ZeroDivisionError

    link = Link(other_end, Broken())
    other_end.incoming.put(b"text\n")
    with pytest.raises(ZeroDivisionError):
        link.receive(5)
    link.close()


class Watch:
    """An observer that keeps everything."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes, int]] = []

    def received(self, data: bytes, at_ns: int, /) -> None:
        self.seen.append(("received", data, at_ns))

    def sent(self, data: bytes, at_ns: int, /) -> None:
        self.seen.append(("sent", data, at_ns))


def test_an_observer_sees_every_byte_in_order_with_the_times_that_the_link_tells(other_end: Wire, sink: Record) -> None:
    other_end.answer = reply()
    watch = Watch()
    link = Link(other_end, sink, observer=watch)
    garbage = b"\xff\x00garbage"
    other_end.incoming.put(garbage)
    other_end.incoming.put(encode_frame(wire.MessageType.TOKEN, 0, TOKEN.pack()))
    assert link.receive(5) == TOKEN
    token_ns = link.received_ns
    pending = link.send(wire.Ping(nonce=5))
    assert pending.wait(5)
    link.observer = None
    link.request(wire.Ping(nonce=6))
    link.close()
    kinds, data, times = zip(*watch.seen, strict=True)
    assert kinds == ("received", "received", "sent", "received")
    assert data[0] == garbage
    assert data[2] == bytes(other_end.sent[: len(data[2])])
    assert list(times) == sorted(times)
    assert times[1:3] == (token_ns, pending.sent_ns)


def test_times_are_those_of_the_clock(other_end: Wire, sink: Record) -> None:
    link = Link(other_end, sink, clock=lambda: 77)
    other_end.incoming.put(encode_frame(wire.MessageType.TOKEN, 0, TOKEN.pack()))
    assert link.receive(5) == TOKEN
    assert link.received_ns == link.send(wire.Ping(nonce=0)).sent_ns == 77
    link.close()


def test_a_hello_that_was_asked_for_is_no_sign_of_a_restart(link: Link, other_end: Wire, sink: Record) -> None:
    started, answer = (
        encode_frame(wire.MessageType.HELLO, 0, bytes([0, 0, flag]) + bytes(wire.Hello.SIZE - 3))
        for flag in (0, wire.HelloFlag.ANSWER)
    )
    for _ in range(3):  # late answers, as many as they like
        other_end.incoming.put(answer)
    other_end.incoming.put(encode_frame(wire.MessageType.TOKEN, 0, TOKEN.pack()))
    assert link.receive(5) == TOKEN
    other_end.incoming.put(started)
    assert isinstance(link.receive(5), wire.Hello)
    assert sum(isinstance(one, wire.Hello) for one in sink.news) == 4
