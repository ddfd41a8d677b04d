# SPDX-License-Identifier: Apache-2.0
"""Builds decode_dump, the plug-in's decoder as a program of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from maxconsole import paths
from maxconsole.virtual.compiler import find_compiler


def build_decoder(folder: Path) -> Path:
    firmware = paths.firmware_dir()
    sources = [Path(__file__).parent / "decode_dump.c"]
    sources += [firmware / "virtual" / name for name in ("a64_decode.c", "a64_memory.c")]
    command = [*find_compiler().command, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{firmware}"]
    subprocess.run([*command, *sources, "-o", folder / "decode_dump"], check=True, timeout=60)
    return folder / "decode_dump"
