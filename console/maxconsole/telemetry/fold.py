# SPDX-License-Identifier: Apache-2.0
"""The sink of a link: folds whole chunks under one lock, and freezes the result on demand."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from maxconsole.link.frames import Counters, Frame, Text, Unfinished
from maxconsole.link.messages import FromBoard, News
from maxconsole.link.text import printable
from maxconsole.schema import wire
from maxconsole.telemetry.kernels import KernelFold
from maxconsole.telemetry.npu import NpuFold
from maxconsole.telemetry.snapshot import LogLine, Snapshot
from maxconsole.telemetry.steps import StepFold

_LOG_LINES = 2000
#: A longer line of text is cut into pieces of this size, so that a stuck board cannot fill the console's memory.
_LINE_MAX = 4096


class Telemetry:
    """The state of one board as it has reported it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kernels = KernelFold()
        self._steps = StepFold()
        self._npu = NpuFold()
        self._log: deque[LogLine] = deque(maxlen=_LOG_LINES)
        self._log_lines = 0
        self._began_ns: int | None = None  # when the first chunk arrived
        self._at_ns = 0  # when this one did, after that
        self._partial_line = b""
        self._unfinished = b""  # more of that line, shown while the link is silent
        self._tokens = 0
        self._hello: wire.Hello | None = None
        self._kv: wire.KvState | None = None
        self._pools: tuple[wire.Pool, ...] = ()
        self._status: wire.Status | None = None
        self._progress: wire.Progress | None = None
        self._done: wire.Done | None = None
        self._fault: wire.Fault | None = None
        self._counters = Counters()

    def accept(self, news: Sequence[News], counters: Counters, at_ns: int = 0, /) -> None:
        """See maxconsole.link.client.Sink."""
        with self._lock:
            if self._began_ns is None:
                self._began_ns = at_ns
            self._at_ns = at_ns - self._began_ns
            self._unfinished = b""
            for one in news:
                if isinstance(one, Frame):
                    self._records(one)
                elif isinstance(one, Text):
                    self._text(one.data)
                elif isinstance(one, Unfinished):
                    self._unfinished = one.data
                else:
                    self._message(one)
            self._counters = replace(counters)

    def snapshot(self) -> Snapshot:
        """Everything as it is now; never half of a chunk."""
        with self._lock:
            return Snapshot(
                hello=self._hello,
                kernels=self._kernels.table(),
                steps=self._steps.traces(),
                npu=self._npu.table(),
                kv=self._kv,
                pools=self._pools,
                status=self._status,
                progress=self._progress,
                done=self._done,
                fault=self._fault,
                log=tuple(self._log),
                log_lines=self._log_lines,
                unfinished_line=printable(self._partial_line + self._unfinished, keep="\t"),
                tokens=self._tokens,
                events=self._kernels.events,
                invalid_records=self._kernels.invalid_records,
                link=replace(self._counters),
            )

    def _records(self, frame: Frame) -> None:
        if frame.type == wire.MessageType.KERNELS:
            self._kernels.add_events(frame.payload)
            self._steps.add(frame.payload)
        elif frame.type == wire.MessageType.NPU_EVENTS:
            self._npu.add(frame.payload)
            self._steps.add_npu(frame.payload)
        else:
            self._kernels.add_totals(frame.payload)

    def _message(self, message: FromBoard) -> None:
        match message:
            case wire.Token():
                self._tokens += 1
            case wire.Log():
                self._line(message.level, message.tail.rstrip(b"\r\n"))
            case wire.Hello():
                if self._hello is not None and self._hello.counter_events != message.counter_events:
                    self._npu.restart()
                    self._kernels.restart()  # as the board has: other events were selected
                self._hello = replace(message, flags=message.flags & ~wire.HelloFlag.ANSWER)  # whoever asked
            case wire.KvState():
                self._kv = message
            case wire.Pools():
                self._pools = message.tail
            case wire.Status():
                self._status = message
            case wire.Progress():
                self._progress = message
            case wire.Done():
                self._done = message
            case wire.Fault():
                self._fault = message
            case wire.Reply() | wire.Logits():
                pass  # for whoever asked; no state

    def _text(self, data: bytes) -> None:
        *lines, rest = (self._partial_line + data).split(b"\n")
        for line in lines:
            self._line(None, self._last_piece(line).rstrip(b"\r"))
        self._partial_line = self._last_piece(rest)

    def _last_piece(self, line: bytes) -> bytes:
        """What is left of a long line after its first pieces, which are logged; the same however it came."""
        while len(line) > _LINE_MAX:
            self._line(None, line[:_LINE_MAX])
            line = line[_LINE_MAX:]
        return line

    def _line(self, level: int | None, line: bytes) -> None:
        self._log.append(LogLine(level, printable(line, keep="\t"), self._at_ns))
        self._log_lines += 1
