# SPDX-License-Identifier: Apache-2.0
"""The far ends of serial ports: a pseudo-terminal's controlling side, and serial servers."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import serial
from serial.rfc2217 import PortManager

NOBODY = 65534


class PtyBoard:
    """A board at the end of a cable, which is a pseudo-terminal; `port` is what the console opens."""

    def __init__(self) -> None:
        self.descriptor, port = os.openpty()
        self.port = Path(os.ttyname(port))
        os.close(port)
        self._plugged = True

    def send(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self.descriptor, left) :]

    def receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += os.read(self.descriptor, size - len(data))
        return data

    def unplug(self) -> None:
        if self._plugged:
            self._plugged = False
            os.close(self.descriptor)


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Without root's rights to everything, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    group, groups = os.getegid(), os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


@contextlib.contextmanager
def tcp_server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port number of a server that hands its one client to `serve`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            client, _ = listener.accept()
            with client:
                serve(client)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join(10)


class Rfc2217Server:
    """A serial server that echoes: pyserial's own port manager in front of a loop."""

    def __init__(self) -> None:
        self.port = serial.serial_for_url("loop://", timeout=0.01)
        self._ended = threading.Event()

    def disconnect(self) -> None:
        self._ended.set()

    def serve(self, client: socket.socket) -> None:
        self._client = client
        port_manager: Any = PortManager  # which the type stubs bind to other classes than pyserial's example does
        manager = port_manager(self.port, self)
        client.settimeout(0.01)
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                data = client.recv(4096)
                if not data:
                    return
                self.port.write(b"".join(manager.filter(data)))
            waiting = self.port.in_waiting
            if waiting:
                self.write(b"".join(manager.escape(self.port.read(waiting))))

    def write(self, data: bytes) -> None:
        self._client.sendall(data)
