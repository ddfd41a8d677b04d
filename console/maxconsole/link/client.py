# SPDX-License-Identifier: Apache-2.0
"""The link of one board: a reader thread that decodes whole chunks, and commands with their answers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Protocol, TypeAlias

from maxconsole.errors import BoardError
from maxconsole.link import messages
from maxconsole.link.frames import Counters, Decoder, Item, Unfinished, encode_frame
from maxconsole.link.messages import News, ToBoard
from maxconsole.link.text import printable
from maxconsole.link.transport import Observer, Transport
from maxconsole.schema import wire

#: How long one read of the transport may wait: bounds how long `close` takes.
_READ_TIMEOUT = 0.05
#: A line of text that has not ended after this many seconds of silence is shown as far as it has come.
_TEXT_PATIENCE = 0.25
#: Messages that nobody has received are kept up to this many; the oldest go first.
_INBOX_MAX = 1 << 16

#: What callers wait for one by one. Everything else is state, and the sink keeps it.
Answer: TypeAlias = wire.Hello | wire.Token | wire.Progress | wire.Logits | wire.Done | wire.Fault


class Sink(Protocol):
    """Who folds what arrives. Called from the reader thread, with one chunk at a time."""

    def accept(self, news: Sequence[News], counters: Counters, at_ns: int, /) -> None:
        """Everything that one chunk completed, perhaps nothing, in order, and the link's counters after it.

        `at_ns` is when the chunk arrived, by the link's clock.
        """
        ...


class RefusedError(BoardError):
    """The board answered a command with something other than OK. `status` is a wire.ReplyStatus."""

    def __init__(self, reply: wire.Reply) -> None:
        what = f"the board refused {_name(wire.MessageType, reply.command)}: {_name(wire.ReplyStatus, reply.status)}"
        reason = printable(reply.tail)
        super().__init__(f"{what}: {reason}" if reason else what)
        self.status = reply.status


class Pending:
    """A command that was sent, at `sent_ns` of the link's clock. The link sets `reply` when the answer arrives."""

    def __init__(self, link: Link, type_: wire.MessageType, seq: int) -> None:
        self.type = type_
        self.seq = seq
        self.sent_ns = 0
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

    `observer` may be set and cleared at any time. `clock` gives the time, in ns, of the bytes that were just moved.
    """

    def __init__(
        self,
        transport: Transport,
        sink: Sink,
        *,
        observer: Observer | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.observer = observer
        self.received_ns = 0  # when the message that `receive` gave last had arrived
        self._transport = transport
        self._sink = sink
        self._clock = clock
        self._chunk_ns = 0  # when the last chunk arrived
        self._decoder = Decoder()
        self._changed = threading.Condition()
        self._inbox: deque[tuple[Answer, int]] = deque(maxlen=_INBOX_MAX)
        self._pending: dict[int, Pending] = {}  # a number is used again after 65536 commands
        self._failure: Exception | None = None
        self._stopping = False
        self._observing = threading.Lock()
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
            data = encode_frame(type_, pending.seq, payload)
            with self._changed:
                self._raise_failure()
                self._pending[pending.seq] = pending
            with self._observing:
                pending.sent_ns = self._clock()
                if self.observer is not None:
                    self.observer.sent(data, pending.sent_ns)
            self._transport.write(data)
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

        A HELLO that was asked for is not among them: here it means that the board has started. Raises what ended the
        reader thread, after everything that had come before.
        """
        with self._changed:
            self._wait(lambda: bool(self._inbox), timeout)
            if self._inbox:
                answer, self.received_ns = self._inbox.popleft()
                return answer
            self._raise_failure()
            return None

    def close(self) -> None:
        """Ends the reader thread, hands on what is left of a last line, and closes the transport.

        Closing twice is harmless.
        """
        self._stopping = True
        self._thread.join()
        self._transport.close()

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
        try:
            try:
                self._read()
            finally:
                if last := self._decoder.finish():
                    self._deliver(last)
        except Exception as error:  # whatever it is, those who wait must learn of it
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _read(self) -> None:
        last = time.monotonic()
        shown = True  # what there is of an unfinished line
        while not self._stopping:
            chunk = self._transport.read(_READ_TIMEOUT)
            if chunk:
                last, shown = time.monotonic(), False
                with self._observing:
                    self._chunk_ns = self._clock()
                    if self.observer is not None:
                        self.observer.received(chunk, self._chunk_ns)
                self._deliver(self._decoder.feed(chunk))
            elif not shown and time.monotonic() - last > _TEXT_PATIENCE:
                shown = True
                if text := self._decoder.unfinished:
                    self._sink.accept([Unfinished(text)], self._decoder.counters, self._chunk_ns)

    def _deliver(self, items: Sequence[Item]) -> None:
        news = messages.interpret(items, self._decoder.counters)
        self._sink.accept(news, self._decoder.counters, self._chunk_ns)
        answers = [(one, self._chunk_ns) for one in news if isinstance(one, Answer) and not _was_asked_for(one)]
        replies = [one for one in news if isinstance(one, wire.Reply)]
        if answers or replies:
            with self._changed:
                self._inbox.extend(answers)
                for reply in replies:
                    if pending := self._pending.pop(reply.command_seq, None):
                        pending.reply = reply
                self._changed.notify_all()


def _was_asked_for(answer: Answer) -> bool:
    """Whether this is a HELLO that somebody has asked for, and so no sign of a restart."""
    return isinstance(answer, wire.Hello) and bool(answer.flags & wire.HelloFlag.ANSWER)


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
