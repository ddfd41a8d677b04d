# SPDX-License-Identifier: Apache-2.0
"""The emulator's process, and the thread that starts it and waits for its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from maxconsole.errors import BoardError

_OUTPUT_BYTES = 4000


class EmulatorProcess:
    """A started emulator. Its output goes to `log`.

    The thread that starts it lives as long as it does. That matters: the plug-in asks the kernel to kill the emulator
    when its parent dies, and for Linux the parent is the thread that started it, not the whole process.
    Raises BoardError where it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        descriptors: Sequence[int] = (),
        on_exit: Callable[[], None] | None = None,
    ) -> None:
        self._command = list(command)
        self._log = log
        self._descriptors = tuple(descriptors)
        self._on_exit = on_exit
        self._process: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        self._asked_to_end = False
        threading.Thread(target=self._run, name="maxconsole-emulator", daemon=True).start()
        self._started.wait()
        if self._error is not None:
            raise BoardError(f"cannot start {self._command[0]}: {self._error.strerror}") from self._error

    def _run(self) -> None:
        try:
            with self._log.open("wb") as log:
                # A session of its own: Ctrl-C in the terminal is for the console, which then ends the board in order.
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=self._descriptors,
                    start_new_session=True,
                )
        except OSError as error:
            self._error = error
            self._ended.set()
            return
        finally:
            self._started.set()
        self._process.wait()
        self._ended.set()
        if self._on_exit is not None and not self._asked_to_end:
            self._on_exit()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def alive(self) -> bool:
        """False from the moment on at which the process has ended."""
        return not self._ended.is_set()

    def wait(self, timeout: float) -> bool:
        """True once the process has ended; False when it still runs after `timeout` seconds."""
        return self._ended.wait(timeout)

    def failure(self) -> BoardError:
        """How the process ended, with its last words."""
        assert self._process is not None
        code = self._process.returncode
        if code is None:
            how = "is still running"
        elif code < 0:
            how = f"was killed by {_signal_name(-code)}"
        else:
            how = f"ended with exit code {code}"
        return BoardError(f"the emulator {how}{self._last_words()}", hint="start the board again")

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            text = self._log.read_bytes()[-_OUTPUT_BYTES:].decode("utf-8", "replace").strip()
            if text:
                return "; it said:\n" + "\n".join(f"    {line}" for line in text.splitlines()[-12:])
        return ""

    def ending(self) -> None:
        """What follows is meant: on_exit is not called."""
        self._asked_to_end = True

    def kill(self, grace: float = 1.0) -> None:
        """Ends the process: in order if it can within `grace` seconds, otherwise at once. Returns when it has ended."""
        self.ending()
        for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
            if self._ended.is_set():
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            self._ended.wait(seconds)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
