# SPDX-License-Identifier: Apache-2.0
"""A Transport over a UART: a local port, or a serial server through any pyserial URL.

pyserial sets ports up. Bytes go around it where a descriptor can be had: `read(1)` moves 0.2 MB/s at a full core, and
a longer `read(n)` throws away what it already has when the other end goes (pyserial 3.5, measured on a pty).
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from typing import Protocol

import serial

from maxconsole.errors import BoardError
from maxconsole.link import serial_open

DEFAULT_BAUD = 115_200
#: A board that takes nothing for this many seconds has stopped.
_WRITE_PATIENCE = 5.0
_WRITE_PAUSE = 0.001
_READ_BYTES = 1 << 16
#: The generic path writes in pieces that the slowest rate sends well within the patience.
_GENERIC_WRITE_BYTES = 256


class SerialTransport:
    """The UART at `port`: a device path, `socket://host:port`, `rfc2217://...` or any other pyserial URL.

    Attaching does not reset the board, and nobody else can open the port meanwhile. Reading and writing may happen in
    two threads; `close` from a third ends both with BoardError.
    """

    def __init__(self, port: str, baud: int = DEFAULT_BAUD, *, dtr: bool = True, rts: bool = True) -> None:
        """Opens the port. `dtr` and `rts`: the levels of the modem lines, for boards that need one of them low.

        Raises UserError, with a different message each, for a port that is missing, forbidden, in use (by whom) or
        no serial port, and for a rate that it does not do.
        """
        self._port = port
        self._carrier = _carrier(port, baud, dtr=dtr, rts=rts)
        self._closed = False
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._closing = threading.Lock()

    def read(self, timeout: float, /) -> bytes:
        """What has arrived, up to 64 KiB; see Transport."""
        with self._reading:
            self._check_open()
            try:
                return self._carrier.read(timeout)
            except (OSError, EOFError) as error:
                raise self._lost() from error

    def write(self, data: bytes, /) -> None:
        """Sends all of `data`; see Transport."""
        left = memoryview(data)
        with self._writing:
            while left:
                self._check_open()
                try:
                    sent = self._carrier.write(left)
                except OSError as error:
                    raise self._lost() from error
                if not sent:
                    self._check_open()
                    raise BoardError(
                        f"the board at {self._port} takes no bytes",
                        hint="it may have stopped, flow control may hold it, or the rate is wrong; reset it",
                    )
                left = left[sent:]

    def close(self) -> None:
        """Lets go of the port; see Transport."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._carrier.interrupt()
            with self._reading, self._writing:
                self._carrier.close()

    def _check_open(self) -> None:
        if self._closed:
            raise BoardError(f"{self._port} has been closed")

    def _lost(self) -> BoardError:
        if "://" in self._port:
            return BoardError(
                f"the serial server at {self._port} has closed the connection",
                hint="check the server and the board's power, and attach again",
            )
        return BoardError(
            f"{self._port} is gone: it was unplugged, or the program behind it has ended",
            hint="check the cable and the board's power, and attach again",
        )


class _Carrier(Protocol):
    """How bytes move. OSError or EOFError: the other end is gone."""

    def read(self, timeout: float, /) -> bytes: ...

    def write(self, data: memoryview, /) -> int:
        """How many bytes went; 0 when none did for as long as the patience."""
        ...

    def interrupt(self) -> None:
        """Wakes whoever waits in `read` or `write`."""
        ...

    def close(self) -> None: ...


def _carrier(port: str, baud: int, *, dtr: bool, rts: bool) -> _Carrier:
    if port.lower().startswith("socket://"):
        return _Descriptor(serial_open.open_socket(port))
    opened = serial_open.open_port(port, baud, dtr=dtr, rts=rts, write_timeout=_WRITE_PATIENCE)
    # A handler with its own `read`, such as spy://, must be asked for the bytes.
    if isinstance(opened, serial.Serial) and type(opened).__module__ == serial.Serial.__module__:
        return _Descriptor(opened)
    return _Generic(opened)


class _Descriptor:
    """A terminal or a socket: `select`, and whole buffers. The descriptor does not block."""

    def __init__(self, owner: serial.Serial | socket.socket) -> None:
        self._owner = owner
        self._descriptor = owner.fileno()
        self._wake_receiver, self._wake_sender = os.pipe()

    def read(self, timeout: float, /) -> bytes:
        ready, _, _ = select.select([self._descriptor, self._wake_receiver], [], [], timeout)
        if self._descriptor not in ready:
            return b""
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:  # another program has taken the bytes
            return b""
        if not data:
            raise EOFError
        return data

    def write(self, data: memoryview, /) -> int:
        end = time.monotonic() + _WRITE_PATIENCE
        while (left := end - time.monotonic()) > 0:
            interrupted, ready, _ = select.select([self._wake_receiver], [self._descriptor], [], left)
            if interrupted:
                break
            if ready:
                try:
                    return os.write(self._descriptor, data)
                except BlockingIOError:  # the room was for less than a terminal takes at once
                    time.sleep(_WRITE_PAUSE)
        return 0

    def interrupt(self) -> None:
        os.write(self._wake_sender, b"\0")

    def close(self) -> None:
        if isinstance(self._owner, serial.Serial):
            serial_open.release(self._owner)
        else:
            self._owner.close()
        os.close(self._wake_receiver)
        os.close(self._wake_sender)


class _Generic:
    """A pyserial port without a usable descriptor: rfc2217://, loop://, spy://."""

    def __init__(self, port: serial.Serial) -> None:
        self._port = port

    def read(self, timeout: float, /) -> bytes:
        # Never more than is there: what a longer read already has is lost when the other end goes. The time-out
        # of the port stays as it is, because rfc2217 negotiates every change with the server.
        end = time.monotonic() + timeout
        while not (data := self._port.read(max(1, self._port.in_waiting))):
            if time.monotonic() >= end:
                break
        return data

    def write(self, data: memoryview, /) -> int:
        try:
            return self._port.write(bytes(data[:_GENERIC_WRITE_BYTES])) or 0
        except serial.SerialTimeoutException:
            return 0

    def interrupt(self) -> None:
        """Not needed: reads are short, and writes end with the patience."""

    def close(self) -> None:
        serial_open.release(self._port)
