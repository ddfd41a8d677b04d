# SPDX-License-Identifier: Apache-2.0
"""Which processes have a device open: so that "busy" can be said with a name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from maxconsole.link.text import printable

_PROC = Path("/proc")


class Holder(NamedTuple):
    """A process that has the device open."""

    pid: int
    name: str

    def __str__(self) -> str:
        return "this console" if self.pid == os.getpid() else f"{self.name} (process {self.pid})"


def holders(device: Path) -> list[Holder]:
    """The processes that have `device` open, this one included, by number; symbolic links are followed.

    Processes of other users cannot be looked into without privileges, so an empty list proves nothing. Empty where
    there is no /proc.
    """
    target = os.path.realpath(device)
    return [Holder(pid, _name(pid)) for pid in sorted(_pids()) if _has_open(pid, target)]


def _pids() -> Iterator[int]:
    if not _PROC.is_dir():
        return
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            yield int(entry.name)


def _has_open(pid: int, target: str) -> bool:
    """False also for a process that has just ended or is not ours to look into."""
    folder = _PROC / str(pid) / "fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:
        return False
    for descriptor in descriptors:
        try:
            if os.readlink(folder / descriptor) == target:
                return True
        except OSError:  # closed since it was listed
            continue
    return False


def _name(pid: int) -> str:
    try:
        return printable((_PROC / str(pid) / "comm").read_bytes().strip()) or "a program"
    except OSError:
        return "a program"
