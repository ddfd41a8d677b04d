# SPDX-License-Identifier: Apache-2.0
"""Builds a program around the plug-in's model, without an emulator."""

from __future__ import annotations

import subprocess
from pathlib import Path

from maxconsole import paths
from maxconsole.virtual.compiler import find_compiler

#: What answers the emulator, or the guest.
_NOT_THE_MODEL = {
    "plugin.c",
    "guest_register.c",
    "device_page.c",
    "races.c",
    "npu.c",
    "npu_check.c",
    "report.c",
    "sync.c",
}


def build_with_model(main: Path, output: Path) -> Path:
    """The program with `main`, a C file of this folder that provides what the model wants of the rest."""
    firmware = paths.firmware_dir()
    sources = [file for file in sorted((firmware / "virtual").glob("*.c")) if file.name not in _NOT_THE_MODEL]
    sources = [main, firmware / "kernels" / "pack.c", *(file for file in sources if not file.name.startswith("user"))]
    command = [*find_compiler().command, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{firmware}"]
    subprocess.run([*command, *sources, "-o", output, "-lpthread"], check=True, timeout=120)
    return output
