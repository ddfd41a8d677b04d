# SPDX-License-Identifier: Apache-2.0
"""Firmware images whose `main` is one of `programs/`, and QEMU to run them on."""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from boot_machine import Machine, boot

from maxconsole import paths
from maxconsole.boards import Board, load_board, plan_unbound
from maxconsole.errors import ToolMissing
from maxconsole.firmware.build import build
from maxconsole.firmware.toolchain import find_toolchain

PROGRAMS = Path(__file__).parent / "programs"
_FOLDERS = ("arch", "hal", "link", "schema")

Boot = Callable[..., AbstractContextManager[Machine]]


@pytest.fixture(scope="session")
def board() -> Board:
    return load_board("aimax395-virtual")


@pytest.fixture(scope="session")
def build_program(board: Board, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds the image of a program, by name; "engine" is the real one. Every name is built once."""
    try:
        find_toolchain()
    except ToolMissing as error:
        pytest.skip(error.what)

    @functools.cache
    def build_one(name: str) -> Path:
        sources = paths.firmware_dir()
        if name != "engine":
            sources = tmp_path_factory.mktemp(name) / "firmware"
            for folder in _FOLDERS:
                shutil.copytree(paths.firmware_dir() / folder, sources / folder)
            for folder, file in (("memory", "pools.c"), ("memory", "pools.h"), (".", "link.ld.in")):
                (sources / folder).mkdir(exist_ok=True)
                shutil.copy(paths.firmware_dir() / folder / file, sources / folder)
            (sources / "engine").mkdir()
            shutil.copy(PROGRAMS / f"{name}.c", sources / "engine/main.c")
        return build(board, plan_unbound(board), sources=sources).elf

    return build_one


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXCONSOLE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def run(board: Board, build_program: Callable[[str], Path]) -> Boot:
    """`run(name, ...)` boots a program; see boot_machine.boot for the rest."""
    if shutil.which("qemu-system-aarch64") is None:
        pytest.skip("qemu-system-aarch64 is not installed")

    @contextlib.contextmanager
    def run_one(name: str, **options: Any) -> Iterator[Machine]:
        shared_memory = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=shared_memory if shared_memory.is_dir() else None) as folder:
            with boot(build_program(name), board, Path(folder), **options) as machine:
                yield machine

    return run_one
