# SPDX-License-Identifier: Apache-2.0
"""Looks for everything that the virtual board needs, and says what to do about what is missing."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from maxconsole import __version__, paths
from maxconsole.boards import list_boards, load_board
from maxconsole.boards.ranges import show_bytes
from maxconsole.errors import UserError
from maxconsole.firmware.toolchain import find_toolchain
from maxconsole.models.demo import demo_path
from maxconsole.virtual.compiler import build_plugin, find_compiler
from maxconsole.virtual.qemu import find_qemu
from maxconsole.virtual.ram import available_memory

#: RAM of a virtual board is sparse: this much of it is really written for the demo model.
_MEMORY_BYTES = 256 << 20
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
            ("boards", _boards),
            ("cache", _cache),
            ("memory", _memory),
            ("emulator", _emulator),
            ("cross compiler", _cross_compiler),
            ("host compiler", _host_compiler),
            ("timing plug-in", _plugin),
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


def _emulator() -> str:
    qemu = find_qemu()
    return f"QEMU {qemu.version}, {qemu.path}"


def _cross_compiler() -> str:
    return find_toolchain().version


def _host_compiler() -> str:
    return find_compiler().version


def _plugin() -> str:
    return f"builds: {build_plugin(find_qemu().version)}"


def _cache() -> str:
    folder = paths.cache_dir("images").parent
    free = shutil.disk_usage(folder).free
    if free < _CACHE_BYTES:
        raise UserError(
            f"{folder} has only {show_bytes(free)} left",
            hint=f"packed images and builds need {show_bytes(_CACHE_BYTES)}; MAXCONSOLE_CACHE names another folder",
        )
    return f"{folder}, {show_bytes(free)} free"


def _memory() -> str:
    free = available_memory()
    if free < _MEMORY_BYTES:
        raise UserError(
            f"only {show_bytes(free)} of memory are free",
            hint=f"a virtual board with the demo model needs {show_bytes(_MEMORY_BYTES)}: close other programs",
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
