# SPDX-License-Identifier: Apache-2.0
"""Looks for everything that the virtual board needs, and says what to do about what is missing."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maxconsole import __version__, paths
from maxconsole.boards import list_boards, load_board
from maxconsole.boards.ranges import show_bytes
from maxconsole.errors import UserError
from maxconsole.firmware.toolchain import find_toolchain
from maxconsole.models.demo import demo_path

#: RAM of a virtual board is a sparse file: this much of it is really written for the demo model.
_SHARED_MEMORY_BYTES = 256 << 20
_CACHE_BYTES = 512 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked for. A `note` is worth knowing, and something `missing` stops the virtual board."""

    name: str
    state: Literal["fine", "note", "missing"]
    found: str
    hint: str = ""


def checkup() -> tuple[Finding, ...]:
    """All findings, in the order in which things are needed."""
    return (
        Finding("maxconsole", "fine", f"{__version__}, Python {platform.python_version()} on {platform.machine()}"),
        *_each(
            ("boards", _boards), ("cross compiler", _compiler), ("cache", _cache), ("shared memory", _shared_memory)
        ),
        _demo_model(),
    )


def _each(*looks: tuple[str, Callable[[], str]]) -> Iterator[Finding]:
    """What each look found; one that raises UserError has found something missing."""
    for name, look in looks:
        try:
            yield Finding(name, "fine", look())
        except UserError as error:
            yield Finding(name, "missing", error.what, error.hint)


def _boards() -> str:
    boards = [load_board(name) for name in list_boards()]
    return ", ".join(board.name for board in boards)


def _compiler() -> str:
    return find_toolchain().version


def _cache() -> str:
    folder = paths.cache_dir("images").parent
    return f"{folder}, {_room(folder, _CACHE_BYTES, 'packed images and builds')}"


def _shared_memory() -> str:
    folder = Path("/dev/shm")
    if not folder.is_dir():
        raise UserError("there is no /dev/shm", hint="virtual boards need Linux with a tmpfs there")
    return f"{folder}, {_room(folder, _SHARED_MEMORY_BYTES, 'the RAM of a virtual board')}"


def _room(folder: Path, needed: int, purpose: str) -> str:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            f"{folder} has only {show_bytes(free)} left",
            hint=f"{purpose} need {show_bytes(needed)}; in a container, start it with more (--shm-size=1g)",
        )
    return f"{show_bytes(free)} free"


def _demo_model() -> Finding:
    path = demo_path()
    if path.is_file():
        return Finding("demo model", "fine", str(path))
    return Finding(
        "demo model",
        "note",
        "not here yet",
        "`maxconsole model fetch-demo` gets it; any GGUF file of your own works too",
    )
