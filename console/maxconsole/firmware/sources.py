# SPDX-License-Identifier: Apache-2.0
"""Which files make up a firmware image, and how each is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from maxconsole.boards import Board
from maxconsole.errors import UserError
from maxconsole.firmware.toolchain import Toolchain

Image = Literal["engine", "checkasm"]

_FOLDERS = ("arch", "hal", "memory", "link", "kernels", "engine")
_SUFFIXES = (".c", ".S")
_ENGINE_ONLY = ("engine/main.c", "engine/serve.c")

_FLAGS = (
    "-ffreestanding",
    "-fno-pie",
    "-ffixed-x18",  # the platform's register (AAPCS64 6.1.1), which neither C nor assembly touches
    "-fno-stack-protector",
    "-mno-outline-atomics",  # the helpers live in a library that is not linked
    "-fno-omit-frame-pointer",  # backtraces walk the frame records
    "-fno-asynchronous-unwind-tables",
    "-ffp-contract=off",  # separate multiply and add, as the references compute
    "-fno-math-errno",  # a square root is one instruction, not a call that might set errno
    "-ffunction-sections",
    "-fdata-sections",
    "-Wall",
    "-Wextra",
    "-Werror",
)
# Before the MMU is on all memory is Device, where unaligned accesses fault, and vector registers may be trapped.
_EARLY_FLAGS = ("-mstrict-align", "-mgeneral-regs-only")


def list_sources(root: Path, board: Board, image: Image) -> tuple[str, ...]:
    """Names, relative to `root`, of the files of `image`. Raises UserError where there are none."""
    folders = [*_FOLDERS, f"hal/{board.hal}"]
    if image == "checkasm":
        folders.append("checkasm")
    files = [file for folder in folders for file in _compiled(root / folder)]
    files += [file for folder in sorted((root / "kernels").glob("*/")) for file in _compiled(folder)]
    names = sorted({file.relative_to(root).as_posix() for file in files})
    if image == "checkasm":
        names = [name for name in names if name not in _ENGINE_ONLY]
    if not names:
        raise UserError(f"there are no firmware sources in {root}")
    return tuple(names)


def _compiled(folder: Path) -> list[Path]:
    return [file for file in folder.glob("*") if file.suffix in _SUFFIXES]


def compile_flags(name: str, toolchain: Toolchain, board: Board, defines: Mapping[str, str]) -> tuple[str, ...]:
    """Everything that decides what the object of `name` contains, apart from the files that it reads.

    The same for every image, so that images share objects.
    """
    flags = [toolchain.cpu_flag(board.cpu.mcpu), "-g", "-O2"]
    if toolchain.kind == "clang":
        flags.append("-ffile-compilation-dir=.")  # its assembler has no other way to leave this machine's folders out
    if name.endswith(".c"):
        flags += ["-std=c11", *_FLAGS]
        if toolchain.kind == "gcc":
            # The command line would name folders of this machine in the debug information.
            flags.append("-gno-record-gcc-switches")
    folder, _, file = name.rpartition("/")
    if folder == "arch" and file.startswith("early_"):
        flags += _EARLY_FLAGS
    flags += [f"-D{key}={value}" for key, value in sorted(defines.items())]
    return tuple(flags)
