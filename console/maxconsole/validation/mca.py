# SPDX-License-Identifier: Apache-2.0
"""llvm-mca 19, whose model of a Neoverse N1 is the nearest published one to a Cortex-A76."""

from __future__ import annotations

import re
import shutil
import subprocess

from maxconsole.errors import ToolMissing, UserError
from maxconsole.validation.loop_programs import Loop

PROGRAM = "llvm-mca-19"
_ITERATIONS = 500


def version() -> str:
    """Raises ToolMissing."""
    if shutil.which(PROGRAM) is None:
        raise ToolMissing(f"{PROGRAM} is not installed", hint="sudo apt install llvm-19")
    text = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    found = re.search(r"LLVM version (\S+)", text)
    return found[1] if found else "unknown"


def cycles(loop: Loop, dispatch: int) -> float:
    """Cycles an iteration in the steady state, with `dispatch` micro-operations per cycle. Raises UserError."""
    return (_total(loop, dispatch, 2 * _ITERATIONS) - _total(loop, dispatch, _ITERATIONS)) / _ITERATIONS


def _total(loop: Loop, dispatch: int, iterations: int) -> int:
    command = [PROGRAM, "-mtriple=aarch64", "-mcpu=neoverse-n1", f"-iterations={iterations}", f"-dispatch={dispatch}"]
    command += ["-all-views=false", "-summary-view"]
    run = subprocess.run(command, input=loop.assembly, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"Total Cycles:\s+(\d+)", run.stdout)
    if run.returncode or found is None:
        raise UserError(f"{PROGRAM} fails on {loop.name}: {run.stderr[-500:]}")
    return int(found[1])
