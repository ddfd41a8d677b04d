# SPDX-License-Identifier: Apache-2.0
"""The connection to a GDB stub: packets out, answers in, acknowledgments, time limits, and whether the target runs."""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from pathlib import Path

from maxconsole.errors import BoardError
from maxconsole.probes import rsp

_INTERRUPT = b"\x03"
_PACKET_SIZE = 400  # what every stub takes, until it says more
_RESENDS = 3
_BLOCKED = "is the emulator or the probe blocked, or is another debugger connected?"


class GdbConnection:
    """A connection to the stub at a unix socket's path, or at (host, port). For one thread at a time.

    Methods raise BoardError when the stub does not answer within `timeout` seconds, or is gone.
    """

    def __init__(self, address: Path | tuple[str, int], timeout: float) -> None:
        self.timeout = timeout
        self.packet_size = _PACKET_SIZE
        self.acks = True
        self.running = False  # told to run, and not seen to stop
        self._parser = rsp.PacketParser()
        self._received: deque[rsp.Packet | rsp.Signal] = deque()
        try:
            if isinstance(address, Path):
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._socket.settimeout(timeout)
                self._socket.connect(str(address))
            else:
                self._socket = socket.create_connection(address, timeout)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise BoardError(f"the debugger stub at {address} cannot be reached: {error}") from error

    def request(self, packet: bytes, *, stops: bool = False) -> bytes:
        """Sends and returns the answer. Where it cannot be a stop reply, those that come are late ones."""
        self.send(packet)
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self.answer(deadline, show(packet))
            if stops or not _is_stop(answer):
                return answer

    def answer(self, deadline: float, what: str) -> bytes:
        """The next packet. Acks are not answers: QEMU sends one alone for `c`, long before the stop."""
        while True:
            item = self._next(max(deadline - time.monotonic(), 0.0))
            if item is None:
                raise BoardError(f"the debugger stub did not answer {what} within {self.timeout:g} s", hint=_BLOCKED)
            if isinstance(item, rsp.Packet) and not item.notification:
                self._note_stop(item)
                return item.payload

    def await_stop(self, what: str) -> None:
        """Returns when the target has stopped."""
        deadline = time.monotonic() + self.timeout
        while self.running:
            self.answer(deadline, what)

    def poll(self, seconds: float = 0.0) -> bool:
        """Takes one thing from the stream while the target runs; False when nothing came within `seconds`."""
        item = self._next(seconds)
        self._note_stop(item)
        return item is not None

    def interrupt(self) -> None:
        """Asks a running target to stop."""
        self._send_raw(_INTERRUPT)

    def send(self, payload: bytes) -> None:
        """Sends a packet and, where acks are used, waits for its ack, sending again when it arrived corrupt.

        Raises ValueError for one that is longer than the stub takes: it might say nothing at all then.
        """
        if len(payload) + rsp.FRAME_BYTES > self.packet_size:
            raise ValueError(f"a packet of {len(payload)} bytes, where the stub takes {self.packet_size}")
        for _ in range(_RESENDS):
            self._send_raw(rsp.encode(payload))
            if not self.acks or self._acknowledged(payload):
                return
        raise BoardError(f"the debugger stub keeps asking for {show(payload)} again")

    def _acknowledged(self, payload: bytes) -> bool:
        deadline = time.monotonic() + self.timeout
        while True:
            item = self._next(max(deadline - time.monotonic(), 0.0))
            if item is None:
                raise BoardError(
                    f"the debugger stub did not take {show(payload)} within {self.timeout:g} s", hint=_BLOCKED
                )
            if isinstance(item, rsp.Signal):
                return item is rsp.Signal.ACK
            self._note_stop(item)

    def _note_stop(self, item: rsp.Packet | rsp.Signal | None) -> None:
        if isinstance(item, rsp.Packet) and _is_stop(item.payload):
            self.running = False

    def _next(self, seconds: float) -> rsp.Packet | rsp.Signal | None:
        """The next thing from the stream, or None when nothing is complete within `seconds`."""
        deadline = time.monotonic() + seconds
        while not self._received:
            try:
                ready, _, _ = select.select([self._socket], [], [], max(deadline - time.monotonic(), 0.0))
                if not ready:
                    return None
                data = self._socket.recv(65536)
            except (OSError, ValueError) as error:  # ValueError: the socket is closed
                raise BoardError(f"the connection to the debugger stub is lost: {error}") from error
            if not data:
                raise BoardError("the debugger stub closed the connection")
            for item in self._parser.feed(data):
                if self.acks and (item is rsp.Signal.CORRUPT or isinstance(item, rsp.Packet)):
                    self._send_raw(b"-" if item is rsp.Signal.CORRUPT else b"+")
                if item is not rsp.Signal.CORRUPT:
                    self._received.append(item)
        return self._received.popleft()

    def _send_raw(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise BoardError(f"the connection to the debugger stub is lost: {error}") from error

    def alive(self) -> bool:
        """Whether the stub is still there. Costs no packet."""
        try:
            ready, _, _ = select.select([self._socket], [], [], 0)
            return not ready or self._socket.recv(1, socket.MSG_PEEK) != b""
        except (OSError, ValueError):
            return False

    @property
    def closed(self) -> bool:
        return self._socket.fileno() < 0

    def close(self) -> None:
        self._socket.close()


def _is_stop(payload: bytes) -> bool:
    return payload[:1] in (b"T", b"S", b"W", b"X") and len(payload) >= 3


def show(payload: bytes) -> str:
    """A packet for messages."""
    text = payload[:40].decode("ascii", "backslashreplace")
    return repr(text) if text else "an empty answer (not supported)"
