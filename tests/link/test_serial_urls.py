# SPDX-License-Identifier: Apache-2.0
"""pyserial URLs go in verbatim: serial servers over TCP and RFC 2217, loops, spies and searches."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from serial_ends import PtyBoard, Rfc2217Server, tcp_server

from maxconsole.errors import BoardError, UserError
from maxconsole.link import serial as serial_link
from maxconsole.link.serial import SerialTransport

EVERY = bytes(range(256))


def read_exactly(transport: SerialTransport, size: int) -> bytes:
    data = b""
    deadline = time.monotonic() + 10
    while len(data) < size and time.monotonic() < deadline:
        data += transport.read(0.2)
    return data


def echo(client: socket.socket) -> None:
    while data := client.recv(65536):
        client.sendall(data)


def test_what_a_tcp_server_sends_at_once_is_not_lost() -> None:
    with tcp_server(lambda client: client.sendall(b"boot log\n")) as port:
        time.sleep(0.05)
        transport = SerialTransport(f"socket://127.0.0.1:{port}")
        time.sleep(0.05)
        assert transport.read(5) == b"boot log\n"
        with pytest.raises(BoardError, match="closed the connection"):
            transport.read(5)
        transport.close()


def test_tcp_carries_every_byte_both_ways() -> None:
    data = EVERY * 2000
    with tcp_server(echo) as port:
        transport = SerialTransport(f"socket://127.0.0.1:{port}?logging=debug")
        transport.write(data)
        assert read_exactly(transport, len(data)) == data
        transport.close()


@pytest.mark.parametrize(
    "url", ["socket://", "socket://host", "socket://host:x", "socket://[::1:7", "socket://h:1?x=1"]
)
def test_a_malformed_address_says_how_to_write_one(url: str) -> None:
    with pytest.raises(UserError) as caught:
        SerialTransport(url)
    assert "socket://host:port" in caught.value.hint


def test_a_server_that_is_not_there_is_a_plain_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UserError, match=r"cannot connect to socket://127\.0\.0\.1:"):
        SerialTransport(f"socket://127.0.0.1:{port}")
    with pytest.raises(UserError, match=r"cannot open rfc2217://127\.0\.0\.1:"):
        SerialTransport(f"rfc2217://127.0.0.1:{port}")


@pytest.mark.filterwarnings("ignore:set(Daemon|Name)")  # pyserial's own
def test_rfc2217_carries_every_byte_both_ways_and_reports_the_end() -> None:
    server = Rfc2217Server()
    with tcp_server(server.serve) as port:
        transport = SerialTransport(f"rfc2217://127.0.0.1:{port}?timeout=5")
        transport.write(EVERY * 4)
        assert read_exactly(transport, len(EVERY) * 4) == EVERY * 4
        assert transport.read(0.05) == b""
        server.disconnect()
        with pytest.raises(BoardError, match="closed the connection"):
            transport.read(5)
        transport.close()


def test_a_loop_gives_back_what_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = SerialTransport("loop://", 3_000_000)
    transport.write(EVERY)
    assert read_exactly(transport, len(EVERY)) == EVERY
    transport.close()
    monkeypatch.setattr(serial_link, "_WRITE_PATIENCE", 0.1)
    slow = SerialTransport("loop://", 50)
    with pytest.raises(BoardError, match="takes no bytes"):
        slow.write(EVERY)
    slow.close()


def test_a_spy_sees_what_goes_through(tmp_path: Path) -> None:
    board, log = PtyBoard(), tmp_path / "spy.log"
    transport = SerialTransport(f"spy://{board.port}?file={log}")
    board.send(b"marker")
    assert read_exactly(transport, 6) == b"marker"
    transport.close()
    board.unplug()
    lines = [line for line in log.read_text().splitlines() if " RX " in line]  # one for each read
    assert bytes.fromhex("".join(line[22:71] for line in lines)) == b"marker"


def test_a_search_that_finds_nothing_is_a_plain_error() -> None:
    with pytest.raises(UserError, match="hwgrep"):
        SerialTransport("hwgrep://no-such-adapter")
