# SPDX-License-Identifier: Apache-2.0
"""Attaching to a board that runs already, with its serial port as the only way in."""

from __future__ import annotations

import os
import pty
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import scripted_board as scripts
from scripted_board import HELLO, ScriptedBoard, tokens_of

from maxconsole.errors import BoardError, UserError
from maxconsole.session import session as session_module
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup


class Wire:
    """A pseudo terminal whose far end is pumped by a board; `talk` gets what was typed and returns the answer."""

    def __init__(self, talk: Callable[[bytes], bytes]) -> None:
        self._master, self._slave = pty.openpty()
        tty.setraw(self._slave, termios.TCSANOW)
        self.path = os.ttyname(self._slave)
        os.set_blocking(self._master, False)
        self._talk = talk
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._pump)

    def start(self) -> None:
        os.close(self._slave)  # or the port would be in use
        self._thread.start()

    def _pump(self) -> None:
        while not self._stop.wait(0.002):
            try:
                data = os.read(self._master, 4096)
            except OSError:  # nobody has it open, or nothing came
                data = b""
            if answer := self._talk(data):
                os.write(self._master, answer)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self._master)


@pytest.fixture
def attach(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Session]]:
    monkeypatch.setattr(session_module, "prepare", lambda setup, _progress: replace(prepared, setup=setup))
    monkeypatch.setattr(session_module, "_ANSWER_TIMEOUT", 1.5)
    wires: list[Wire] = []
    sessions: list[Session] = []

    def make(talk: Callable[[bytes], bytes]) -> Session:
        wires.append(Wire(talk))
        wires[-1].start()
        setup = Setup(board=prepared.board.name, port=wires[-1].path, baud=230_400)
        sessions.append(Session.open(setup))
        return sessions[-1]

    yield make
    for one in (*sessions, *wires):
        one.close()


def running(prepared: Prepared) -> Callable[[bytes], bytes]:
    """A board whose own HELLO went by long ago."""
    board = ScriptedBoard(
        scripts.answering, hello=replace(HELLO, image_crc=prepared.image.header.header_crc, build_id=bytes(range(20)))
    )
    while board.read(0):
        pass

    def talk(data: bytes) -> bytes:
        board.write(data)
        return board.read(0)

    return talk


def test_a_running_board_is_asked_for_its_hello_and_answers(attach: Callable[..., Session], prepared: Prepared) -> None:
    session = attach(running(prepared))
    assert session.hello.board == "scripted"
    assert session.badge.modelled
    generation = session.ask(tokens_of("hi"), GREEDY, 3)
    assert "".join(generation)
    assert len(generation.answer.tokens) == 3


def test_a_silent_port_names_port_and_rate(attach: Callable[..., Session]) -> None:
    with pytest.raises(BoardError, match=r"nothing has come from /dev/pts/\d+ at 230400 baud") as caught:
        attach(lambda _data: b"")
    assert "cable" in caught.value.hint


def test_bytes_without_a_frame_point_to_the_rate(attach: Callable[..., Session]) -> None:
    with pytest.raises(BoardError, match="no frame among them") as caught:
        attach(lambda data: b"\xf8\x00\xf8" if data else b"")
    assert "--baud" in caught.value.hint


def test_a_board_that_runs_something_else_is_refused(attach: Callable[..., Session], prepared: Prepared) -> None:
    other = ScriptedBoard(scripts.answering, hello=replace(HELLO, build_id=bytes(20)))

    def talk(data: bytes) -> bytes:
        other.write(data)
        return other.read(0)

    with pytest.raises(BoardError, match="the board runs build 000000000000"):
        attach(talk)
    assert prepared.firmware.build_id != bytes(20).hex()


def test_a_port_that_is_not_there_is_said_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(*_: object) -> Prepared:
        raise AssertionError("nothing is to be built for a port that does not exist")

    monkeypatch.setattr(session_module, "prepare", built)
    with pytest.raises(UserError, match="there is no serial port /dev/ttyNONE"):
        Session.open(Setup(port="/dev/ttyNONE"))


def test_waiting_for_a_board_to_start_ends_when_nobody_waits_any_more(prepared: Prepared) -> None:
    def stop(stage: str, *_: object) -> None:
        assert stage == "boot"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Session(prepared, ScriptedBoard(scripts.answering, hello=None), stop)
