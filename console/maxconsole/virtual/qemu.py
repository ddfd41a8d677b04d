# SPDX-License-Identifier: Apache-2.0
"""Finds the emulator and makes sure that it can be the board."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from maxconsole.errors import ToolMissing

PROGRAM = "qemu-system-aarch64"
USER_PROGRAM = "qemu-aarch64"
OLDEST = (7, 2)  # the first release series with cortex-a76 and the plug-in interface as used here
_INSTALL = "sudo apt install qemu-system-arm   (Debian 12, Ubuntu 23.04 or newer)"
_INSTALL_USER = "sudo apt install qemu-user   (Debian 12; Debian 13 links it statically, so that it has no plug-ins)"
_SECONDS = 20.0


class PluginsMissing(ToolMissing):
    """An emulator that is otherwise fit was built without plug-ins."""


@dataclass(frozen=True, slots=True)
class Qemu:
    """An emulator that was asked and found fit."""

    path: Path
    version: str


def find_qemu(cpu: str = "cortex-a76") -> Qemu:
    """The emulator in `MAXCONSOLE_QEMU`, or else in PATH.

    Raises ToolMissing where there is none, where it is older than 7.2, and where it lacks `cpu` or plug-ins.
    """
    override = os.environ.get("MAXCONSOLE_QEMU")
    found = shutil.which(override or PROGRAM)
    if found is None:
        if override:
            raise ToolMissing(f"MAXCONSOLE_QEMU names {override}, which is not a program", hint="unset it, or mend it")
        raise ToolMissing(f"{PROGRAM} is not installed", hint=_INSTALL)
    path = Path(found).resolve()
    return _examine(path, path.stat().st_mtime_ns, cpu, ("-machine", "virt"), _INSTALL)


def find_user_qemu(cpu: str = "cortex-a76") -> Qemu:
    """The emulator of single Linux programs, from PATH. Raises ToolMissing as find_qemu does."""
    found = shutil.which(USER_PROGRAM)
    if found is None:
        raise ToolMissing(f"{USER_PROGRAM} is not installed", hint=_INSTALL_USER)
    path = Path(found).resolve()
    return _examine(path, path.stat().st_mtime_ns, cpu, (), _INSTALL_USER)


@lru_cache(maxsize=8)
def _examine(path: Path, _changed: int, cpu: str, machine: tuple[str, ...], install: str) -> Qemu:
    told = _ask(path, install, "--version")
    match = re.search(r"version (\d+)\.(\d+)(?:\.(\d+))?", told)
    if match is None:
        raise ToolMissing(f"{path} does not say which version it is: {told.strip()[:120]!r}", hint=install)
    version = ".".join(part for part in match.groups() if part is not None)
    if (int(match[1]), int(match[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ToolMissing(f"{path} is version {version}; {oldest} or newer is needed", hint=install)
    if cpu not in _ask(path, install, *machine, "-cpu", "help").split():
        raise ToolMissing(f"{path} ({version}) does not emulate {cpu}", hint=install)
    if "-plugin" not in _ask(path, install, "--help"):
        raise PluginsMissing(f"{path} ({version}) was built without plug-ins", hint=f"one that has them: {install}")
    return Qemu(path, version)


def _ask(path: Path, install: str, *arguments: str) -> str:
    try:
        run = subprocess.run(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolMissing(f"{path} {' '.join(arguments)} gave no answer in {_SECONDS:.0f} s", hint=install) from error
    except OSError as error:
        raise ToolMissing(f"{path} cannot be run: {error.strerror}", hint=install) from error
    if run.returncode and not run.stdout:  # user mode ends with 1 after its list of processors
        last = (run.stderr.strip() or "no output").splitlines()[-1]
        raise ToolMissing(f"{path} {' '.join(arguments)} failed: {last}", hint=install)
    return run.stdout
