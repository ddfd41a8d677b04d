# SPDX-License-Identifier: Apache-2.0
"""E13: how large the firmware is, and what it takes of memory besides its pools."""

from __future__ import annotations

from maxconsole.firmware.elf import read_elf, report
from maxconsole.session.setup import Setup, prepare
from maxconsole.validation.check import AtMost, Bench, Check, Group, Outcome
from maxconsole.validation.engine_runs import BOARD

_KIB = 1024


def _run(_bench: Bench) -> Outcome:
    found = report(read_elf(prepare(Setup(BOARD)).firmware.elf))
    rows = (
        AtMost("image: code, constants, initialized data", "KiB", found.loaded_bytes / _KIB, 256, "target"),
        AtMost(
            "RAM beyond image and pools: variables, stacks, rings",
            "KiB",
            (found.image_bytes - found.loaded_bytes) / _KIB,
            1024,
            "target",
        ),
    )
    return Outcome((Group(BOARD, rows),))


CHECK = Check("E13", "size of the firmware", _run)
