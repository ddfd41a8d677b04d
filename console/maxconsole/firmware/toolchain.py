# SPDX-License-Identifier: Apache-2.0
"""Finds a compiler for bare-metal AArch64 and knows how each kind wants to be called."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maxconsole.errors import ToolMissing

Kind = Literal["gcc", "clang", "zig"]

_INSTALL_HINT = (
    "install one of: gcc-aarch64-linux-gnu, or clang with lld (Debian, Ubuntu, Fedora packages);"
    " the Arm GNU tool chain aarch64-none-elf; or `pip install ziglang`. MAXCONSOLE_CC names any other compiler"
)
_OLDEST = {"gcc": 10, "clang": 14, "zig": 0}
"""gcc 10 and clang 14 are the first that know Cortex-A76, -mno-outline-atomics and DWARF 5."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler that works: how to call it for compiling and for linking, and which one it is."""

    kind: Kind
    compile_command: tuple[str, ...]
    link_command: tuple[str, ...]
    version: str

    @property
    def linker_prefix(self) -> str:
        """What a linker's option needs in front: drivers pass on what follows `-Wl,`."""
        return "-Wl," if self.kind == "gcc" else ""

    def cpu_flag(self, mcpu: str) -> str:
        return f"-mcpu={mcpu.replace('-', '_') if self.kind == 'zig' else mcpu}"


def find_toolchain() -> Toolchain:
    """The first of $MAXCONSOLE_CC, aarch64-linux-gnu-gcc, aarch64-none-elf-gcc, clang with lld, `python -m ziglang`.

    Raises ToolMissing with what was tried and what to install.
    """
    named = os.environ.get("MAXCONSOLE_CC", "").strip()
    if named:
        return _named(named)
    problems: list[str] = []
    for program in ("aarch64-linux-gnu-gcc", "aarch64-none-elf-gcc", "clang"):
        if shutil.which(program) is None:
            continue
        try:
            return inspect_compiler((program,))
        except ToolMissing as error:
            problems.append(error.what)
    if importlib.util.find_spec("ziglang") is not None:
        return inspect_compiler((sys.executable, "-m", "ziglang", "cc"))
    found = f": {'; '.join(problems)}" if problems else ""
    raise ToolMissing(f"no usable compiler for AArch64 was found{found}", hint=_INSTALL_HINT)


def _named(text: str) -> Toolchain:
    command = tuple(shlex.split(text))
    if not command or shutil.which(command[0]) is None:
        raise ToolMissing(f"MAXCONSOLE_CC names {text!r}, which is not an executable program", hint=_INSTALL_HINT)
    return inspect_compiler(command)


def inspect_compiler(command: tuple[str, ...]) -> Toolchain:
    """What kind of compiler `command` is. Raises ToolMissing if it cannot build this firmware."""
    if _is_zig(command):
        return _zig(command)
    banner = _ask(command, "--version")
    kind: Kind = "clang" if "clang" in banner.lower() else "gcc"
    version = banner.splitlines()[0].strip() if banner else ""
    number = re.search(r"(\d+)\.\d+(\.\d+)?", _after_parentheses(version) if kind == "gcc" else version)
    if number is None:
        raise ToolMissing(f"{command[0]} does not answer --version like gcc or clang", hint=_INSTALL_HINT)
    if int(number[1]) < _OLDEST[kind]:
        raise ToolMissing(f"{command[0]} is {kind} {number[0]}; {_OLDEST[kind]} or newer is needed", hint=_INSTALL_HINT)
    if kind == "clang":
        linker = _lld(command)
        return Toolchain(kind, (*command, "--target=aarch64-none-elf"), linker, f"{version}; {_first_line(linker)}")
    machine = _ask(command, "-dumpmachine").strip()
    if not machine.startswith("aarch64"):
        raise ToolMissing(f"{command[0]} builds for {machine}, not for AArch64", hint=_INSTALL_HINT)
    return Toolchain(kind, command, (*command, "-nostdlib", "-static", "-no-pie"), version)


def _is_zig(command: tuple[str, ...]) -> bool:
    return any(Path(part).name in ("zig", "zig.exe", "ziglang") for part in command)


def _zig(command: tuple[str, ...]) -> Toolchain:
    program = command[:-1] if command[-1] == "cc" else command
    version = _ask(program, "version").strip()
    if not re.match(r"\d+\.\d+", version):
        raise ToolMissing(f"{shlex.join(program)} does not answer `version` like zig", hint=_INSTALL_HINT)
    target = ("-target", "aarch64-freestanding-none")
    return Toolchain("zig", (*program, "cc", *target), (*program, "ld.lld"), f"zig {version}")


def _lld(command: tuple[str, ...]) -> tuple[str, ...]:
    """The LLVM linker of the same version, which clang knows about, or the one on PATH."""
    own = _ask(command, "-print-prog-name=ld.lld").strip()
    found = shutil.which(own) or shutil.which("ld.lld")
    if found is None:
        raise ToolMissing(f"{command[0]} has no ld.lld", hint="install the package lld")
    return (found,)


def _after_parentheses(version: str) -> str:
    """`aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0`: the packager's text may hold numbers of its own."""
    return re.sub(r"\([^)]*\)", "", version)


def _first_line(command: tuple[str, ...]) -> str:
    return _ask(command, "--version").partition("\n")[0].strip()


def _ask(command: tuple[str, ...], question: str) -> str:
    try:
        answer = subprocess.run(
            (*command, question), capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissing(f"{shlex.join(command)} does not run: {error}", hint=_INSTALL_HINT) from error
    if answer.returncode != 0:
        detail = (answer.stderr or answer.stdout).strip().partition("\n")[0]
        raise ToolMissing(f"{shlex.join(command)} {question} failed: {detail}", hint=_INSTALL_HINT)
    return answer.stdout
