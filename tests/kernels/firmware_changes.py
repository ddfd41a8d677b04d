# SPDX-License-Identifier: Apache-2.0
"""Firmware with one mistake in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from maxconsole import paths
from maxconsole.firmware.build import build
from maxconsole.session.setup import Prepared


def changed(prepared: Prepared, folder: Path, name: str, change: Callable[[str], str]) -> Prepared:
    """The same with a change to a file of the firmware."""
    sources = folder / "firmware"
    shutil.copytree(paths.firmware_dir(), sources)
    file = sources / name
    file.write_text(change(file.read_text()))
    return replace(prepared, firmware=build(prepared.board, prepared.plan, sources=sources))


def without(part: str, instead: str = "") -> Callable[[str], str]:
    def change(text: str) -> str:
        assert text.count(part) == 1
        return text.replace(part, instead)

    return change
