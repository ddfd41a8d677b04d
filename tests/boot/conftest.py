# SPDX-License-Identifier: Apache-2.0
"""Firmware images whose `main` is one of `programs/`, and QEMU to run them on."""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from boot_machine import Boot, BuildProgram, Machine, boot

from maxconsole import paths
from maxconsole.boards import Board, load_board, plan_unbound
from maxconsole.errors import ToolMissing
from maxconsole.firmware.build import build
from maxconsole.firmware.toolchain import find_toolchain

PROGRAMS = Path(__file__).parent / "programs"
_FOLDERS = ("arch", "hal", "link", "schema")
_COMMAND_LOOP = ("generate.h", "main.c", "prompt.c", "prompt.h", "report.c", "report.h", "serve.c", "serve.h")


@pytest.fixture(scope="session")
def board() -> Board:
    return load_board("aimax395-virtual")


@pytest.fixture(scope="session")
def build_program(board: Board, tmp_path_factory: pytest.TempPathFactory) -> BuildProgram:
    """Builds the image of a program, by name; "engine" is the real one. Every image is built once.

    With `silicon` it is for a board that has no timing model but its own PMU.
    """
    try:
        find_toolchain()
    except ToolMissing as error:
        pytest.skip(error.what)

    @functools.cache
    def sources_of(name: str) -> Path:
        bundled = paths.firmware_dir()
        if name == "engine":
            return bundled
        root = tmp_path_factory.mktemp(name) / "firmware"
        for folder in _FOLDERS:
            shutil.copytree(bundled / folder, root / folder)
        for file in ("memory/pools.c", "memory/pools.h", "link.ld.in"):
            (root / file).parent.mkdir(exist_ok=True)
            shutil.copy(bundled / file, root / file)
        (root / "engine").mkdir()
        if name == "echo":  # replaces only what lies below the command loop
            for file in _COMMAND_LOOP:
                shutil.copy(bundled / "engine" / file, root / "engine")
            shutil.copy(PROGRAMS / "echo.c", root / "engine/generate.c")
        else:
            shutil.copy(PROGRAMS / f"{name}.c", root / "engine/main.c")
        return root

    @functools.cache
    def build_one(name: str, *, silicon: bool = False, telemetry: bool = True) -> Path:
        target = replace(board, virtual=None) if silicon else board
        defines = {} if telemetry else {"TELEMETRY": "0"}
        return build(target, plan_unbound(board), sources=sources_of(name), defines=defines).elf

    return build_one


@pytest.fixture
def run(board: Board, build_program: BuildProgram) -> Boot:
    """`run(name, ...)` boots a program; see build_program and boot_machine.boot for the rest."""
    if shutil.which("qemu-system-aarch64") is None:
        pytest.skip("qemu-system-aarch64 is not installed")

    @contextlib.contextmanager
    def run_one(name: str, *, silicon: bool = False, **options: Any) -> Iterator[Machine]:
        shared_memory = Path("/dev/shm")
        elf = build_program(name, silicon=silicon)
        with (
            tempfile.TemporaryDirectory(dir=shared_memory if shared_memory.is_dir() else None) as folder,
            boot(elf, board, Path(folder), **options) as machine,
        ):
            yield machine

    return run_one
