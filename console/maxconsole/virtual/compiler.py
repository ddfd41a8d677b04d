# SPDX-License-Identifier: Apache-2.0
"""Builds the timing plug-in and its tools for this host on first use, with whatever C compiler there is."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from maxconsole import paths
from maxconsole.errors import ToolMissing, UserError

_WARNINGS = ("-std=gnu11", "-Wall", "-Wextra")
_PLUGIN_FLAGS = (*_WARNINGS, "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-tree-slp-vectorize")
_LIBRARIES = ("-lpthread", "-ldl")
_SECONDS = 300.0
_INSTALL = "sudo apt install gcc   (or: pip install 'maxconsole[zig]')"


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler for this host; `version` is the first line of what it says of itself."""

    command: tuple[str, ...]
    version: str


def find_compiler() -> Compiler:
    """The first of $CC, gcc, cc, clang, and Zig's from the Python package, that runs. Raises ToolMissing."""
    for command in _candidates():
        try:
            run = subprocess.run(
                [*command, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if run.returncode == 0 and run.stdout.strip():
            return Compiler(command, run.stdout.splitlines()[0].strip())
    raise ToolMissing("there is no C compiler for the timing plug-in", hint=_INSTALL)


def _candidates() -> Iterator[tuple[str, ...]]:
    chosen = os.environ.get("CC", "").split()
    if chosen:
        yield tuple(chosen)
    for name in ("gcc", "cc", "clang"):
        if shutil.which(name):
            yield (name,)
    if importlib.util.find_spec("ziglang") is not None:
        yield (sys.executable, "-m", "ziglang", "cc")


def build_plugin(qemu_version: str, compiler: Compiler | None = None) -> Path:
    """The shared library, from the cache where sources, compiler and emulator are the same as before.

    Raises ToolMissing without a compiler, and UserError with the compiler's messages where it fails.
    """
    firmware = paths.firmware_dir()
    # The NPU reads weights as the firmware packs them.
    shared = ["schema/device_page.h", "schema/npu.h", "schema/image.h"]
    shared += ["kernels/activations.h", "kernels/pack.h", "kernels/pack.c"]
    inputs = sorted([*(firmware / "virtual").glob("*.[ch]"), *(firmware / name for name in shared)])
    job = _Job("plugin", "maxconsole-timing.so", "the timing plug-in", _PLUGIN_FLAGS, _LIBRARIES, (qemu_version,))
    return _build(job, inputs, compiler or find_compiler())


def build_decoder(compiler: Compiler | None = None) -> Path:
    """The program that says what the timing model knows of instructions (firmware/virtual/tools/describe_code.c).

    From the cache, and with the same errors as the plug-in.
    """
    folder = paths.firmware_dir() / "virtual"
    inputs = sorted([*folder.glob("a64_*.[ch]"), folder / "tools" / "describe_code.c"])
    job = _Job("decoder", "describe-code", "the instruction decoder", (*_WARNINGS, "-O2"))
    return _build(job, inputs, compiler or find_compiler())


@dataclass(frozen=True, slots=True)
class _Job:
    """What to build: a folder of the cache, the file's name in it, and what users call it.

    `facts` decide, beside sources, flags and compiler, whether a build can be used again.
    """

    folder: str
    file: str
    title: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


def _build(job: _Job, inputs: list[Path], compiler: Compiler) -> Path:
    digest = hashlib.sha256()
    for fact in (*job.flags, *compiler.command, compiler.version, *job.facts, platform.machine()):
        digest.update(fact.encode() + b"\0")
    for file in inputs:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    folder = paths.cache_dir(job.folder)
    built = folder / digest.hexdigest()[:32] / job.file
    if not built.is_file():
        _compile(job, compiler, [file for file in inputs if file.suffix == ".c"], built)
        _forget_others(folder, built.parent)
    return built


def _compile(job: _Job, compiler: Compiler, sources: list[Path], built: Path) -> None:
    """Two consoles may do this at once: each builds its own file, and the last rename wins."""
    built.parent.mkdir(exist_ok=True)
    include = f"-I{paths.firmware_dir()}"
    with tempfile.TemporaryDirectory(dir=built.parent) as scratch:
        output = Path(scratch) / built.name
        command = [*compiler.command, *job.flags, include, *map(str, sources), "-o", str(output), *job.libraries]
        try:
            run = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(f"{compiler.command[0]} did not finish in {_SECONDS:.0f} s", exit_code=3) from error
        if run.returncode:
            messages = (run.stderr.strip() or run.stdout.strip() or "it said nothing")[-4000:]
            raise UserError(
                f"{job.title} does not compile with {compiler.version}:\n{messages}",
                hint="set CC to another compiler, for example CC=gcc",
                exit_code=3,
            )
        output.replace(built)


def _forget_others(folder: Path, kept: Path) -> None:
    """Keeps the eight newest builds: emulator and compiler versions come and go."""
    old = sorted((path for path in folder.iterdir() if path != kept), key=lambda path: path.stat().st_mtime)
    for path in old[:-7]:
        shutil.rmtree(path, ignore_errors=True)
