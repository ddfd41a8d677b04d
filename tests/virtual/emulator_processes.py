# SPDX-License-Identifier: Apache-2.0
"""Which emulators run, as the operating system sees it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def emulators(folder: Path) -> list[int]:
    """Emulator processes that name `folder` on their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"qemu-system" in command.split(b"\0")[0] and os.fsencode(folder) in command:
            found.append(int(entry.name))
    return found


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Returns when `condition` holds, and fails when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)
