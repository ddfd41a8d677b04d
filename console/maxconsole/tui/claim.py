# SPDX-License-Identifier: Apache-2.0
"""One console a board: a lock that the kernel releases in every case, with the holder's name in it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from pathlib import Path

from maxconsole import paths
from maxconsole.errors import BoardError


class Claim:
    """Holds a board from now on. Raises BoardError that names the holder where another console has it."""

    def __init__(self, board: str) -> None:
        self._file = os.open(_path(board), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = _read(self._file)
            self.release()
            raise BoardError(
                f"{board} is in use by {who}", hint="leave it there (Ctrl+Q), or choose another board with F2"
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"another maxconsole, process {os.getpid()}, since {time.strftime('%H:%M')}".encode(), 0)

    def release(self) -> None:
        """Lets others have it. Releasing twice is harmless."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def holder(board: str) -> str:
    """Who holds a board, in words; "" for a free one."""
    try:
        file = os.open(_path(board), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        who = _read(file)
        return "" if f"process {os.getpid()}," in who else who
    finally:
        os.close(file)
    return ""


def _read(file: int) -> str:
    return os.pread(file, 200, 0).decode(errors="replace") or "another maxconsole"


def _path(board: str) -> Path:
    """A profile given by its path is another board than a shipped one of the same name."""
    name = board
    if "/" in board or board.endswith(".toml"):
        full = str(Path(board).expanduser().resolve())
        name = f"{Path(board).stem}-{hashlib.sha256(full.encode()).hexdigest()[:8]}"
    return paths.runtime_dir() / f"console-{name}.lock"
