# SPDX-License-Identifier: Apache-2.0
"""Runs tools that may have to be stopped half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from maxconsole.errors import ToolMissing, UserError

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs commands until `cancel` is set or `stop` is called; those running then are killed with all they started."""

    cancel: threading.Event
    _stopping: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        self._stopping.set()

    def _cancelled(self) -> bool:
        return self.cancel.is_set() or self._stopping.is_set()

    def run(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Runs `command` in `folder` and captures its output.

        Raises UserError when cancelled, ToolMissing if it cannot be started.
        """
        if self._cancelled():
            raise _stopped()
        environment = {**os.environ, "LC_ALL": "C"}  # messages are parsed
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # a driver starts compilers of its own: they form one group
            )
        except OSError as error:
            raise ToolMissing(f"cannot run {command[0]}: {error.strerror}") from error
        with process:
            while True:
                try:
                    output, messages = process.communicate(timeout=_POLL_SECONDS)
                    return subprocess.CompletedProcess(list(command), process.returncode, output, messages)
                except subprocess.TimeoutExpired:
                    if self._cancelled():
                        os.killpg(process.pid, signal.SIGKILL)
                        process.communicate()
                        raise _stopped() from None


def _stopped() -> UserError:
    return UserError("the build was stopped")
