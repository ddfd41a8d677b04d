# SPDX-License-Identifier: Apache-2.0
"""A GDB stub that behaves, or misbehaves, as a test scripts it: what QEMU's never does has to be tried too."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from maxconsole.probes import rsp

TARGET = b'<target><feature><reg name="x0" bitsize="64" regnum="0"/><reg name="pc" bitsize="64"/></feature></target>'
Answer = bytes | Callable[[bytes], bytes | None]


class Stub:
    """Listens at `path`. `answers` are by the start of a packet; None is silence, and others are answered empty."""

    def __init__(
        self, path: Path, answers: Mapping[bytes, Answer], *, greeting: bytes = b"", acks: bool = True
    ) -> None:
        self.path = path
        self.seen: list[bytes] = []
        self.sent_back: list[rsp.Signal] = []
        self.connection: socket.socket | None = None
        self._answers = {b"qXfer:features:read:target.xml": b"l" + TARGET, b"?": b"T05thread:01;", **answers}
        self._greeting = greeting
        self._acks = acks
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen(1)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            self.connection, _ = self._server.accept()
            self.connection.sendall(self._greeting)
            parser = rsp.PacketParser()
            while data := self.connection.recv(65536):
                for item in parser.feed(data):
                    if isinstance(item, rsp.Packet):
                        self._react(item.payload)
                    else:
                        self.sent_back.append(item)
        except OSError:
            pass

    def _react(self, payload: bytes) -> None:
        assert self.connection is not None
        self.seen.append(payload)
        if self._acks:
            self.connection.sendall(b"+")
        answer: bytes | None = b""
        for start, given in self._answers.items():
            if payload.startswith(start):
                answer = given(payload) if callable(given) else given
        if answer is not None:
            self.connection.sendall(answer if answer[:1] == b"$" else rsp.encode(answer))

    def close(self) -> None:
        for one in (self.connection, self._server):
            if one is not None:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
        self._thread.join(2)
