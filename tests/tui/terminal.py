# SPDX-License-Identifier: Apache-2.0
"""The console as a process on a pseudo-terminal, for what only shows there: bytes, signals, what is left behind."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

#: Opens the console; `board` is filled in.
START = "import sys; from maxconsole.tui import Choice, run; sys.exit(run(Choice({board!r}, None, 128, 64)))"


class Terminal:
    """Runs the console; `output` is every byte that it has drawn. As a context manager it ends the process."""

    def __init__(
        self,
        board: str = "aimax395-virtual",
        *,
        size: tuple[int, int] = (120, 36),
        environment: Mapping[str, str] | None = None,
        program: str = START,
    ) -> None:
        self.output = b""
        self._typed = 0  # bytes that were drawn before the last key or size
        self._master, slave = pty.openpty()
        self.resize(*size)
        self.process = subprocess.Popen(
            [sys.executable, "-c", program.format(board=board)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509  so that Ctrl-C before the first screen is a signal
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})},
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def resize(self, cells: int, rows: int) -> None:
        """Changes the size; the console is told by the kernel."""
        self._typed = len(self.output)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cells, 0, 0))

    def type(self, keys: bytes) -> None:
        """Types bytes as a keyboard would send them, draining what is drawn meanwhile."""
        self._drain(0)
        self._typed = len(self.output)
        left = memoryview(keys)
        while left:
            self._drain(0)
            _, writable, _ = select.select([], [self._master], [], 1)
            if writable:
                left = left[os.write(self._master, left[:512]) :]

    def wait_for(self, condition: Callable[[], bool], timeout: float = 60.0) -> None:
        """Reads until `condition` holds. Raises AssertionError after `timeout` seconds, with what was drawn last."""
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"it never came to that; drawn last: {self.output[-2000:]!r}")
            self._drain(0.05)

    def wait_for_text(self, text: str, timeout: float = 60.0) -> None:
        """Until `text` has been drawn since the last key or size; words that Textual draws in one piece only."""
        self.wait_for(lambda: text.encode() in self.output[self._typed :], timeout)

    def wait_for_end(self, timeout: float = 60.0) -> int:
        """The exit code."""
        self.wait_for(lambda: self.process.poll() is not None, timeout)
        return self.process.returncode

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """A signal to the console's process alone."""
        self.process.send_signal(number)

    def _drain(self, timeout: float) -> None:
        readable, _, _ = select.select([self._master], [], [], timeout)
        if readable:
            try:
                self.output += os.read(self._master, 1 << 16)
            except OSError:  # the process has ended and closed its side
                time.sleep(0.01)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def children(process: int) -> list[int]:
    """Processes that `process` has started, theirs included."""
    found = []
    for task in os.listdir(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{task}/children", encoding="ascii") as file:
                direct = [int(one) for one in file.read().split()]
        except FileNotFoundError:
            continue
        for child in direct:
            found += [child, *children(child)]
    return found
