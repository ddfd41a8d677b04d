# SPDX-License-Identifier: Apache-2.0
"""The board's UART: a socket that is drained without pause.

QEMU stops the core that writes to a UART whose other end does not read, and then answers no debugger either.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable

from maxconsole.errors import BoardError

_KEEP_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16


class Uart:
    """Reads from `connection` until it closes. `on_bytes` is called on the reading thread and must not raise.

    The last megabyte is kept.
    """

    def __init__(self, connection: socket.socket, on_bytes: Callable[[bytes], None] | None = None) -> None:
        self._socket = connection
        self._on_bytes = on_bytes
        self._kept = bytearray()
        self._lock = threading.Lock()
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._drain, name="maxconsole-uart", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while True:
            ready, _, _ = select.select([self._socket, self._wake], [], [])
            if self._socket not in ready:
                return  # woken, and nothing is left to read
            try:
                data = os.read(self._socket.fileno(), _CHUNK_BYTES)
            except OSError:
                return  # QEMU is gone; its waiter says so
            if not data:
                return
            with self._lock:
                self._kept += data
                del self._kept[: max(0, len(self._kept) - _KEEP_BYTES)]
            if self._on_bytes is not None:
                self._on_bytes(data)

    def text(self) -> bytes:
        """What was read so far, the last megabyte of it."""
        with self._lock:
            return bytes(self._kept)

    def write(self, data: bytes) -> None:
        """Sends to the board. Raises BoardError when QEMU is gone."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise BoardError(f"the board's UART is closed: {error}") from error

    def close(self) -> None:
        """Ends the thread; what was read stays."""
        if self._waker < 0:
            return
        os.write(self._waker, b"x")
        self._thread.join()
        self._socket.close()
        os.close(self._wake)
        os.close(self._waker)
        self._waker = -1
