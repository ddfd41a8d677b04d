# SPDX-License-Identifier: Apache-2.0
"""The client against stubs that differ from QEMU's, or fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stub import Answer, Stub

from maxconsole.errors import BoardError
from maxconsole.probes.gdb import GdbClient
from maxconsole.probes.rsp import Signal

QEMU = {b"qSupported": b"PacketSize=1000;qXfer:features:read+"}
Maker = Callable[..., Stub]


@pytest.fixture
def make_stub(tmp_path: Path) -> Iterator[Maker]:
    made: list[Stub] = []

    def make(answers: dict[bytes, Answer], **options: object) -> Stub:
        made.append(Stub(tmp_path / f"stub{len(made)}", {**QEMU, **answers}, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for stub in made:
        stub.close()


def test_stop_replies_that_nobody_asked_for_are_skipped(make_stub: Maker) -> None:
    stub = make_stub({b"m": b"01020304"}, greeting=b"$T02thread:01;#0a")
    client = GdbClient(stub.path)
    assert client.read(0x1000, 4) == b"\x01\x02\x03\x04"
    client.close()


def test_binary_writes_are_used_where_they_are_offered(make_stub: Maker) -> None:
    offered = make_stub({b"X": b"OK", b"M": b"OK"})
    client = GdbClient(offered.path)
    client.write(0x1000, b"}#$*")
    assert offered.seen[-2:] == [b"X1000,0:", b"X1000,4:}#$*"]
    client.close()
    plain = make_stub({b"M": b"OK"})
    client = GdbClient(plain.path)
    client.write(0x1000, b"}#$*")
    assert plain.seen[-1] == b"M1000,4:7d23242a"
    client.close()


def test_acks_are_left_out_where_both_agree(make_stub: Maker) -> None:
    features = b"PacketSize=4000;QStartNoAckMode+"
    stub = make_stub({b"qSupported": features, b"QStartNoAckMode": b"OK", b"m": b"00"})
    client = GdbClient(stub.path)
    before = len(stub.sent_back)
    assert client.read(0, 1) == b"\0"
    assert len(stub.sent_back) == before
    client.close()


def test_large_transfers_are_cut_to_the_packet_size(make_stub: Maker) -> None:
    def memory(packet: bytes) -> bytes:
        address, count = (int(part, 16) for part in packet[1:].split(b","))
        return b"".join(b"%02x" % (n & 0xFF) for n in range(address, address + count))

    stub = make_stub({b"qSupported": b"PacketSize=200;qXfer:features:read+", b"m": memory, b"M": b"OK"})
    client = GdbClient(stub.path)
    assert client.read(0x10, 3000) == bytes(n & 0xFF for n in range(0x10, 0x10 + 3000))
    client.write(0, bytes(3000))
    assert max(map(len, stub.seen)) <= 0x200
    client.close()


def test_a_corrupt_answer_is_asked_for_again(make_stub: Maker) -> None:
    answers = iter([b"$01#00", b"$02#62"])
    stub = make_stub({b"m": lambda _: next(answers)})
    client = GdbClient(stub.path)

    def resend() -> None:
        while Signal.NAK not in stub.sent_back:
            time.sleep(0.01)
        assert stub.connection is not None
        stub.connection.sendall(next(answers))

    helper = threading.Thread(target=resend)
    helper.start()
    assert client.read(0, 1) == b"\x02"
    helper.join()
    client.close()


@pytest.mark.parametrize(
    ("answer", "message"),
    [(b"E14", "refused memory at 0x1000 \\(error 14\\)"), (b"", "cannot read memory"), (b"zz", "not hexadecimal"),
     (b"00", "read 1 of 4 bytes")],
)  # fmt: skip
def test_refusals_say_what_was_refused(make_stub: Maker, answer: bytes, message: str) -> None:
    client = GdbClient(make_stub({b"m": answer}).path)
    with pytest.raises(BoardError, match=message):
        client.read(0x1000, 4)
    client.close()


def test_silence_ends_in_a_message_with_the_time(make_stub: Maker) -> None:
    stub = make_stub({b"m": lambda _: None})
    client = GdbClient(stub.path, timeout=0.2)
    with pytest.raises(BoardError, match=r"did not answer 'm1000,4' within 0\.2 s") as caught:
        client.read(0x1000, 4)
    assert "another debugger" in caught.value.hint
    client.close()


def test_a_stub_that_is_busy_with_another_debugger_is_told_apart_from_none(make_stub: Maker, tmp_path: Path) -> None:
    stub = make_stub({})
    first = GdbClient(stub.path)
    with pytest.raises(BoardError, match="did not take 'qSupported"):
        GdbClient(stub.path, timeout=0.2)
    first.close()
    with pytest.raises(BoardError, match="cannot be reached"):
        GdbClient(tmp_path / "nothing", timeout=0.2)


def test_a_dead_stub_is_noticed_without_a_packet(make_stub: Maker) -> None:
    stub = make_stub({})
    client = GdbClient(stub.path)
    assert client.alive()
    stub.close()
    assert not client.alive()
    with pytest.raises(BoardError, match=r"closed the connection|is lost"):
        client.read(0, 4)
    client.close()
    client.close()


def test_what_needs_a_halted_target_says_so(make_stub: Maker) -> None:
    stub = make_stub({b"c": lambda _: None})
    client = GdbClient(stub.path)
    client.resume()
    assert client.running
    with pytest.raises(BoardError, match="is running"):
        client.registers()
    assert stub.connection is not None
    stub.connection.sendall(b"$T05thread:01;#07")
    assert client.wait_for_stop(2)
    client.close()


def test_a_description_that_is_no_xml_is_an_error(make_stub: Maker) -> None:
    stub = make_stub({b"qXfer:features:read:target.xml": b"l<target"})
    with pytest.raises(BoardError, match=r"target\.xml is not understood"):
        GdbClient(stub.path)
    circle = make_stub({b"qXfer:features:read:target.xml": b'l<target><xi:include href="target.xml"/></target>'})
    with pytest.raises(BoardError, match="includes itself"):
        GdbClient(circle.path)
