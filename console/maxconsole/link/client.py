# SPDX-License-Identifier: Apache-2.0
"""The link of one board: a reader thread that decodes whole chunks, and commands with their answers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Protocol, TypeAlias

from maxconsole.errors import BoardError, UserError
from maxconsole.link import messages
from maxconsole.link.frames import Counters, Decoder, Item, encode_frame
from maxconsole.link.messages import News, ToBoard
from maxconsole.link.text import printable
from maxconsole.link.transport import Transport
from maxconsole.schema import wire

#: How long one read of the transport may wait: bounds how long `close` takes.
_READ_TIMEOUT = 0.05
#: A line of text that has not ended after this many seconds of silence is shown as it is.
_TEXT_PATIENCE = 0.25
#: Messages that nobody has received are kept up to this many; the oldest go first.
_INBOX_MAX = 1 << 16

#: What callers wait for one by one. Everything else is state, and the sink keeps it.
Answer: TypeAlias = wire.Hello | wire.Token | wire.Progress | wire.Logits | wire.Done | wire.Fault


class Sink(Protocol):
    """Who folds what arrives. Called from the reader thread, with one chunk at a time."""

    def accept(self, news: Sequence[News], counters: Counters, /) -> None:
        """Everything that one chunk completed, in order, and the link's counters after it."""
        ...


class RefusedError(BoardError):
    """The board answered a command with something other than OK. `status` is a wire.ReplyStatus."""

    def __init__(self, reply: wire.Reply) -> None:
        what = f"the board refused {_name(wire.MessageType, reply.command)}: {_name(wire.ReplyStatus, reply.status)}"
        reason = printable(reply.tail)
        super().__init__(f"{what}: {reason}" if reason else what)
        self.status = reply.status


class Pending:
    """A command that was sent. `reply` is set by the link when the answer arrives."""

    def __init__(self, link: Link, type_: wire.MessageType, seq: int) -> None:
        self.type = type_
        self.seq = seq
        self.reply: wire.Reply | None = None
        self._link = link

    def wait(self, timeout: float) -> wire.Reply | None:
        """The answer, or None when there is none within `timeout` seconds.

        Raises RefusedError when it is not OK, and what ended the link when that has failed.
        """
        reply = self._link._await(self, timeout)
        if reply is not None and reply.status != wire.ReplyStatus.OK:
            raise RefusedError(reply)
        return reply


class Link:
    """Frames over a Transport. Any thread may send; `receive` is for one caller.

    With `capture`, every byte received is also written to that file.
    """

    def __init__(self, transport: Transport, sink: Sink, *, capture: Path | None = None) -> None:
        """Raises UserError when the capture file cannot be made."""
        self._transport = transport
        self._sink = sink
        self._capture = None if capture is None else _Capture(capture)
        self._decoder = Decoder()
        self._changed = threading.Condition()
        self._inbox: deque[Answer] = deque(maxlen=_INBOX_MAX)
        self._pending: dict[int, Pending] = {}  # a number is used again after 65536 commands
        self._failure: Exception | None = None
        self._stopping = False
        self._send_lock = threading.Lock()
        self._seq = 0
        self._thread = threading.Thread(target=self._run, name="maxconsole-link", daemon=True)
        self._thread.start()

    @property
    def counters(self) -> Counters:
        """What has arrived so far; live, for messages and status lines."""
        return self._decoder.counters

    def send(self, message: ToBoard | wire.MessageType) -> Pending:
        """Sends a command; a bare type is a command without payload. Its answer can be waited for, or left alone.

        Raises BoardError when the link has failed or the board takes no more.
        """
        type_, payload = _encoded(message)
        with self._send_lock:
            pending = Pending(self, type_, self._seq)
            self._seq = (self._seq + 1) & 0xFFFF
            with self._changed:
                self._raise_failure()
                self._pending[pending.seq] = pending
            self._transport.write(encode_frame(type_, pending.seq, payload))
        return pending

    def request(self, message: ToBoard | wire.MessageType, *, timeout: float = 5.0) -> wire.Reply:
        """Sends a command and waits for its answer.

        Raises RefusedError when the answer is not OK, BoardError when none comes within `timeout` seconds.
        """
        pending = self.send(message)
        reply = pending.wait(timeout)
        if reply is None:
            raise BoardError(
                f"no answer to {pending.type.name} within {timeout:g} s",
                hint="the firmware has stopped or is in a loop; reset the board, or halt it and look at its PC",
            )
        return reply

    def receive(self, timeout: float) -> Answer | None:
        """The next HELLO, TOKEN, PROGRESS, LOGITS, DONE or FAULT; None when there is none within `timeout` seconds.

        Raises what ended the reader thread, after everything that had come before.
        """
        with self._changed:
            self._wait(lambda: bool(self._inbox), timeout)
            if self._inbox:
                return self._inbox.popleft()
            self._raise_failure()
            return None

    def close(self) -> None:
        """Ends the reader thread and closes transport and capture file. Closing twice is harmless."""
        self._stopping = True
        self._thread.join()
        self._transport.close()
        if self._capture is not None:
            self._capture.close()

    def _await(self, pending: Pending, timeout: float) -> wire.Reply | None:
        with self._changed:
            self._wait(lambda: pending.reply is not None, timeout)
            if pending.reply is None:
                self._raise_failure()
            return pending.reply

    def _wait(self, ready: Callable[[], bool], timeout: float) -> None:
        self._changed.wait_for(lambda: ready() or self._failure is not None, timeout)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        last = time.monotonic()
        try:
            while not self._stopping:
                chunk = self._transport.read(_READ_TIMEOUT)
                if chunk:
                    last = time.monotonic()
                    if self._capture is not None:
                        self._capture.write(chunk)
                    self._deliver(self._decoder.feed(chunk))
                elif time.monotonic() - last > _TEXT_PATIENCE:
                    self._deliver(self._decoder.flush())
        except Exception as error:  # whatever it is, those who wait must learn of it
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _deliver(self, items: Sequence[Item]) -> None:
        if not items:
            return
        news = messages.interpret(items, self._decoder.counters)
        self._sink.accept(news, self._decoder.counters)
        answers = [one for one in news if isinstance(one, Answer)]
        replies = [one for one in news if isinstance(one, wire.Reply)]
        if answers or replies:
            with self._changed:
                self._inbox.extend(answers)
                for reply in replies:
                    if pending := self._pending.pop(reply.command_seq, None):
                        pending.reply = reply
                self._changed.notify_all()


class _Capture:
    """The file that keeps the raw bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("wb")
        except OSError as error:
            raise self._error(error) from error

    def write(self, chunk: bytes) -> None:
        try:
            self._file.write(chunk)
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> UserError:
        return UserError(f"cannot write the capture {self._path}: {error.strerror}")


def _encoded(message: ToBoard | wire.MessageType) -> tuple[wire.MessageType, bytes]:
    if isinstance(message, wire.MessageType):
        return message, b""
    return messages.type_of(message), message.pack()


def _name(enumeration: type[IntEnum], value: int) -> str:
    """The name of `value`, or the bare number from a newer protocol."""
    try:
        return enumeration(value).name.replace("_", " ").lower()
    except ValueError:
        return str(value)
