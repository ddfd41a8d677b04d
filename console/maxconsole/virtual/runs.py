# SPDX-License-Identifier: Apache-2.0
"""Run folders: one for each live board, mode 0700, with its sockets, and what is needed to tidy up after a crash.

A folder's owner holds a lock on its `lock` file for as long as it lives; the kernel lets go of it in every case. Who
gets the lock of a folder that is not its own knows that the owner is gone, and removes what it left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from maxconsole import paths
from maxconsole.errors import UserError

_PREFIX = "board-"
_LOCK = "lock"
_PROCESS = "process"
_SOCKET_PATH_MAX = 107  # bytes, sun_path without its terminator
_LONGEST_NAME = 12
_KILL_SECONDS = 2.0


class RunFolder:
    """A fresh, locked folder. Folders of consoles that crashed are removed first.

    Raises UserError where it cannot be made.
    """

    def __init__(self, parent: Path | None = None) -> None:
        parent = parent or paths.runtime_dir()
        remove_abandoned(parent)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UserError(f"cannot make a run folder in {parent}: {error.strerror}") from error
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        if len(os.fsencode(self.path)) + 1 + _LONGEST_NAME > _SOCKET_PATH_MAX:
            self.remove()
            raise UserError(
                f"{parent} is too long a path for sockets", hint="set XDG_RUNTIME_DIR to a shorter one, such as /tmp"
            )

    def note_process(self, pid: int) -> None:
        """Records the emulator, so that it can be ended should this process be killed."""
        (self.path / _PROCESS).write_text(f"{pid} {_start_time(pid) or 0}\n", "ascii")

    def remove(self) -> None:
        """Removes the folder. Harmless the second time."""
        if self._lock < 0:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1


def remove_abandoned(parent: Path) -> None:
    """Ends emulators whose console is gone, and removes their folders."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
                _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        # Between mkdtemp and open in its owner, or left by a crash just there: only an old one is removed.
        if time.time() - folder.stat().st_mtime > 60:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _end_process(folder / _PROCESS)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass  # its owner lives
    finally:
        os.close(lock)


def _end_process(note: Path) -> None:
    """Kills the process that the note names, if that is still the same one."""
    try:
        pid, started = map(int, note.read_text("ascii").split())
    except (OSError, ValueError):
        return
    deadline = time.monotonic() + _KILL_SECONDS
    while started and _start_time(pid) == started and time.monotonic() < deadline:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _start_time(pid: int) -> int | None:
    """When the process started, in clock ticks since boot (proc(5), field 22); None when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])
