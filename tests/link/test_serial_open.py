# SPDX-License-Identifier: Apache-2.0
"""Opening serial ports: nothing resets the board, nobody else gets in, and every refusal says what to do."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serial.serialposix import TIOCMBIC, TIOCMBIS, TIOCMSET, TIOCM_DTR_str, TIOCM_RTS_str
from serial_ends import PtyBoard, unprivileged

from maxconsole.errors import UserError
from maxconsole.link.device_holders import Holder, holders
from maxconsole.link.serial import SerialTransport

SOME_GROUP = 20


@pytest.fixture
def board() -> Iterator[PtyBoard]:
    board = PtyBoard()
    yield board
    board.unplug()


@pytest.fixture
def modem_lines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bytes]]:
    """What is asked of the modem lines, which a pseudo-terminal does not have."""
    asked: list[tuple[int, bytes]] = []
    ioctl = fcntl.ioctl

    def watch(descriptor: int, request: int, *argument: Any) -> Any:
        if request in (TIOCMBIC, TIOCMBIS, TIOCMSET):
            asked.append((request, *argument))
            return 0
        return ioctl(descriptor, request, *argument)

    monkeypatch.setattr(fcntl, "ioctl", watch)
    return asked


def test_attaching_and_detaching_drops_no_modem_line(board: PtyBoard, modem_lines: list[tuple[int, bytes]]) -> None:
    attributes = termios.tcgetattr(board.descriptor)
    attributes[2] |= termios.HUPCL
    termios.tcsetattr(board.descriptor, termios.TCSANOW, attributes)
    transport = SerialTransport(str(board.port))
    assert not termios.tcgetattr(board.descriptor)[2] & termios.HUPCL
    transport.close()
    assert set(modem_lines) == {(TIOCMBIS, TIOCM_DTR_str), (TIOCMBIS, TIOCM_RTS_str)}


def test_a_board_can_have_its_lines_low(board: PtyBoard, modem_lines: list[tuple[int, bytes]]) -> None:
    SerialTransport(str(board.port), dtr=False, rts=False).close()
    assert set(modem_lines) == {(TIOCMBIC, TIOCM_DTR_str), (TIOCMBIC, TIOCM_RTS_str)}


def test_a_second_open_names_this_console(board: PtyBoard) -> None:
    first = SerialTransport(str(board.port))
    with pytest.raises(UserError, match="is in use by this console"):
        SerialTransport(str(board.port))
    first.close()
    SerialTransport(str(board.port)).close()


def test_a_program_without_a_lock_is_found_and_named(board: PtyBoard, tmp_path: Path) -> None:
    link = tmp_path / "by-id"
    link.symlink_to(board.port)
    with board.port.open("rb", buffering=0) as port, subprocess.Popen(["sleep", "60"], stdin=port) as other:
        try:
            assert Holder(other.pid, "sleep") in holders(link)
            with pytest.raises(UserError, match=rf"is in use by .*sleep \(process {other.pid}\)") as caught:
                SerialTransport(str(link))
            assert "close it there" in caught.value.hint
        finally:
            other.kill()


def test_other_programs_cannot_open_the_port_meanwhile(board: PtyBoard) -> None:
    board.port.chmod(0o666)
    transport = SerialTransport(str(board.port))
    with unprivileged(), pytest.raises(OSError, match="busy") as caught:
        os.open(board.port, os.O_RDWR | os.O_NOCTTY)
    assert caught.value.errno == errno.EBUSY
    with unprivileged(), pytest.raises(UserError, match="is in use by this console"):
        SerialTransport(str(board.port))
    transport.close()
    with unprivileged():
        os.close(os.open(board.port, os.O_RDWR | os.O_NOCTTY))


def test_a_missing_port_lists_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no serial port .*ttyUSB7") as caught:
        SerialTransport(str(tmp_path / "ttyUSB7"))
    assert "there are: " in caught.value.hint or "no serial port is connected" in caught.value.hint


def test_a_forbidden_port_names_the_group_to_join(board: PtyBoard) -> None:
    if os.geteuid() == 0:
        os.chown(board.port, 0, SOME_GROUP)
    board.port.chmod(0o060)
    with unprivileged(), pytest.raises(UserError, match="you may not open") as caught:
        SerialTransport(str(board.port))
    assert "usermod -aG" in caught.value.hint
    assert "dialout" in caught.value.hint


def test_a_port_for_its_owner_only_does_not_blame_a_group(board: PtyBoard) -> None:
    board.port.chmod(0)
    with unprivileged(), pytest.raises(UserError, match="you may not open") as caught:
        SerialTransport(str(board.port))
    assert "usermod" not in caught.value.hint


@pytest.mark.parametrize("what", ["a file", "a folder", "/dev/full"])
def test_what_is_no_terminal_is_refused(what: str, tmp_path: Path) -> None:
    path = Path(what) if what.startswith("/") else tmp_path / what
    if what == "a file":
        path.write_bytes(b"content")
    elif what == "a folder":
        path.mkdir()
    with pytest.raises(UserError, match="is not a serial port"):
        SerialTransport(str(path))
    if what == "a file":
        assert path.read_bytes() == b"content"


@pytest.mark.parametrize("baud", [-1, 1 << 40])
def test_an_impossible_rate_is_named(board: PtyBoard, baud: int) -> None:
    with pytest.raises(UserError, match=f"does not do {baud} baud"):
        SerialTransport(str(board.port), baud)
    SerialTransport(str(board.port)).close()


@pytest.mark.parametrize("baud", [9600, 921_600, 3_000_000, 1_234_567])
def test_usual_and_odd_rates_are_set(board: PtyBoard, baud: int) -> None:
    SerialTransport(str(board.port), baud).close()


def test_an_unknown_scheme_is_a_plain_error() -> None:
    with pytest.raises(UserError, match="carrier-pigeon"):
        SerialTransport("carrier-pigeon://coop")
