# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from firmware_tree import Builder

from maxconsole.errors import ToolMissing
from maxconsole.firmware.elf import read_elf
from maxconsole.firmware.symbols import Symbolizer
from maxconsole.firmware.toolchain import find_toolchain, inspect_compiler

COMPILERS = {
    "gcc": ("aarch64-linux-gnu-gcc",),
    "bare-metal gcc": ("aarch64-none-elf-gcc",),
    "clang": ("clang",),
    "zig": (sys.executable, "-m", "ziglang", "cc"),
}


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with a shell and nothing else, in a process without ziglang."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("MAXCONSOLE_CC", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return folder


@pytest.mark.parametrize("name", COMPILERS)
def test_every_compiler_that_is_installed_builds_and_symbolizes(name: str, warm_builder: Builder) -> None:
    command = COMPILERS[name]
    if shutil.which(command[0]) is None or (name == "zig" and importlib.util.find_spec("ziglang") is None):
        pytest.skip(f"{name} is not installed")
    try:
        toolchain = inspect_compiler(command)
    except ToolMissing as error:
        pytest.skip(str(error))
    elf = read_elf(warm_builder(toolchain=toolchain).elf)
    location = Symbolizer(elf.path).symbolize(elf.address_of("add"))
    assert (location.function, location.file) == ("add", "firmware/kernels/add.c")
    start = Symbolizer(elf.path).symbolize(elf.entry + 4)
    assert (start.function, start.offset, start.file) == ("_start", 4, "firmware/arch/start.S")


def test_without_any_compiler_the_message_says_what_to_install(path: Path) -> None:
    with pytest.raises(ToolMissing, match="no usable compiler") as caught:
        find_toolchain()
    assert "gcc-aarch64-linux-gnu" in caught.value.hint
    assert caught.value.exit_code == 3


def test_gcc_for_linux_comes_before_bare_metal_gcc(path: Path) -> None:
    for name in ("aarch64-none-elf-gcc", "aarch64-linux-gnu-gcc"):
        program(
            path / name, f'case "$1" in --version) echo "{name} (Some 3.4 packager) 13.2.0";; *) echo aarch64;; esac'
        )
    assert find_toolchain().compile_command == ("aarch64-linux-gnu-gcc",)


def test_the_environment_variable_comes_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = 'for last; do :; done; case "$last" in --version) echo "mine 14.1.0";; *) echo aarch64-elf;; esac'
    program(path / "aarch64-linux-gnu-gcc", answer)
    mine = program(path / "my compiler", answer)
    monkeypatch.setenv("MAXCONSOLE_CC", f"'{mine}' -pipe")
    assert find_toolchain().compile_command == (str(mine), "-pipe")


def test_a_compiler_for_32_bit_arm_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(path / "arm-none-eabi-gcc", 'case "$1" in --version) echo "gcc 12.2.0";; *) echo arm-none-eabi;; esac')
    monkeypatch.setenv("MAXCONSOLE_CC", "arm-none-eabi-gcc")
    with pytest.raises(ToolMissing, match="builds for arm-none-eabi, not for AArch64"):
        find_toolchain()


def test_a_compiler_that_is_too_old_is_refused(path: Path) -> None:
    program(path / "aarch64-linux-gnu-gcc", 'echo "aarch64-linux-gnu-gcc (Old 10.9) 8.3.0"')
    with pytest.raises(ToolMissing, match=r"gcc 8\.3\.0; 10 or newer is needed"):
        find_toolchain()


def test_clang_without_its_linker_is_refused_with_the_package_to_install(path: Path) -> None:
    program(path / "clang", 'case "$1" in --version) echo "clang version 16.0.0";; *) echo ld.lld;; esac')
    with pytest.raises(ToolMissing, match=r"clang has no ld\.lld"):
        find_toolchain()


def test_a_named_compiler_that_does_not_exist_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXCONSOLE_CC", "no-such-gcc")
    with pytest.raises(ToolMissing, match="MAXCONSOLE_CC names 'no-such-gcc'"):
        find_toolchain()


def test_a_program_that_is_no_compiler_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(path / "odd", "exit 3")
    monkeypatch.setenv("MAXCONSOLE_CC", "odd")
    with pytest.raises(ToolMissing, match="odd --version failed"):
        find_toolchain()
