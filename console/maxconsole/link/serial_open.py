# SPDX-License-Identifier: Apache-2.0
"""Opening serial ports through pyserial, and saying plainly why one does not open."""

from __future__ import annotations

import errno
import fcntl
import grp
import os
import socket
import stat
import termios
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import serial
from serial.tools import list_ports

from maxconsole.errors import UserError
from maxconsole.link.device_holders import holders

_CONNECT_TIMEOUT = 5.0
#: One read or write inside pyserial waits at most this long, so that `close` need not wait for longer.
_GENERIC_READ_TIMEOUT = 0.02
#: termios keeps a rate in an int.
_BAUD_MAX = (1 << 31) - 1
#: So many programs are named; more than one is rare.
_HOLDERS_NAMED = 3
_GONE = (errno.ENOENT, errno.ENODEV, errno.ENXIO)
_FORBIDDEN = (errno.EACCES, errno.EPERM)
_BUSY = (errno.EBUSY, errno.EAGAIN)


def open_port(port: str, baud: int, *, dtr: bool, rts: bool, write_timeout: float) -> serial.Serial:
    """Opens a device path or any pyserial URL, for this program alone where the system can enforce that.

    What a URL gives is only called `Serial` by the type stubs: rfc2217:// and loop:// are other classes.

    `dtr` and `rts` are set before the port opens. Linux raises both lines on open whatever one asks for, so True for
    both makes no edge at all, and dropping them on close is turned off: attaching does not reset a board that has its
    reset on one of them. Raises UserError.
    """
    device = None if "://" in port else Path(port)
    try:
        if not 0 < baud <= _BAUD_MAX:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        opened = serial.serial_for_url(port, do_not_open=True, baudrate=baud)
        opened.timeout = _GENERIC_READ_TIMEOUT
        if not port.lower().startswith("rfc2217://"):  # which has no other than its own, 5 s
            opened.write_timeout = write_timeout
        opened.dtr = dtr
        opened.rts = rts
        if isinstance(opened, serial.Serial):
            device = Path(str(opened.port))  # also what hwgrep:// has found
            _check(device)
            opened.exclusive = True
        opened.open()
        if isinstance(opened, serial.Serial):
            _keep(opened.fileno())
    except (OSError, ValueError) as error:
        raise _explained(error, port, device, baud) from error
    return opened


def open_socket(url: str) -> socket.socket:
    """Connects to `socket://host:port`: like pyserial, but without throwing away what the board has sent by then.

    Raises UserError.
    """
    try:
        parts = urlsplit(url)
        host, number, options = parts.hostname, parts.port, parse_qs(parts.query)
    except ValueError as error:
        raise UserError(f"{url}: {error}", hint="write it as socket://host:port") from error
    if host is None or number is None or options.keys() - {"logging"}:
        raise UserError(f"{url} is not an address of a serial server", hint="write it as socket://host:port")
    try:
        connection = socket.create_connection((host, number), _CONNECT_TIMEOUT)
    except OSError as error:
        reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise UserError(
            f"cannot connect to {url}: {reason}", hint="check that the serial server runs, and its host and port"
        ) from error
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setblocking(False)
    return connection


def release(opened: serial.Serial) -> None:
    """Closes the port and lets others open it."""
    if isinstance(opened, serial.Serial) and opened.is_open:
        try:
            fcntl.ioctl(opened.fileno(), termios.TIOCNXCL)
        except OSError as error:
            if error.errno != errno.EIO:  # EIO: unplugged, and so nobody's
                raise
    opened.close()


def _check(device: Path) -> None:
    """Refuses what is no device, and a device that another program has open without having locked it."""
    if not stat.S_ISCHR(device.stat().st_mode):
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))
    if any(holder.pid != os.getpid() for holder in holders(device)):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _keep(descriptor: int) -> None:
    """Takes the terminal for this program, and leaves DTR and RTS alone when it is closed."""
    fcntl.ioctl(descriptor, termios.TIOCEXCL)
    attributes = termios.tcgetattr(descriptor)
    attributes[2] &= ~termios.HUPCL
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)


def _explained(error: OSError | ValueError, port: str, device: Path | None, baud: int) -> UserError:
    code = _code(error)
    if code in _GONE:
        what, hint = f"there is no serial port {port}", _present()
    elif code in _FORBIDDEN:
        what, hint = f"you may not open {port}", _permission_hint(device)
    elif code in _BUSY:
        what, hint = _busy(device or Path(port))
    elif code == errno.ENOTTY:
        what, hint = f"{port} is not a serial port", _present()
    elif code == errno.EINVAL or "baud rate" in str(error):
        what, hint = f"{port} does not do {baud} baud", "choose a rate that the adapter and the board share"
    else:
        what, hint = f"cannot open {port}: {error}", "give a device such as /dev/ttyUSB0, or a pyserial URL"
    return UserError(what, hint=hint)


def _code(error: OSError | ValueError) -> int | None:
    """The errno; pyserial puts that of termios only into the text, but the original is still attached."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    cause = error.__context__
    return cause.args[0] if isinstance(cause, termios.error) else None


def _busy(device: Path) -> tuple[str, str]:
    found = ", ".join(map(str, holders(device)[:_HOLDERS_NAMED]))
    if found:
        return f"{device} is in use by {found}", "close it there first, and then attach again"
    return f"{device} is in use by another user's program", f"`sudo fuser -v {device}` shows which; close it there"


def _permission_hint(device: Path | None) -> str:
    if device is None:
        return "ask whoever runs the machine for access to the port"
    status = device.stat()
    if not status.st_mode & stat.S_IWGRP or status.st_gid == 0:
        return f"only {'root' if status.st_uid == 0 else 'its owner'} may open it; a udev rule can change that"
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    return f"join its group: `sudo usermod -aG {group} $USER` (often dialout), then log out and in again"


def _present() -> str:
    """The ports that there are, for whoever has mistyped one or forgotten a cable."""
    ports = [f"{port.device} ({port.description})" if port.vid else port.device for port in list_ports.comports()]
    return f"there are: {', '.join(sorted(ports))}" if ports else "no serial port is connected; check the cable"
