# SPDX-License-Identifier: Apache-2.0
"""Runs a static AArch64 Linux program under QEMU's user mode with the timing model of a board.

Its threads are the board's cores: each takes the lowest free one when it starts and gives it back when it ends. (The
plug-in's side: firmware/virtual/user.h.)
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from maxconsole import paths
from maxconsole.boards import Board
from maxconsole.errors import BoardError, UserError
from maxconsole.virtual.compiler import build_plugin
from maxconsole.virtual.linux_program import Program, read_program
from maxconsole.virtual.linux_results import Progress, Results, read_progress, read_results
from maxconsole.virtual.plugin import CORES_MAX, Mode, model_arguments, plugin_option, read_report
from maxconsole.virtual.qemu import find_user_qemu

ADDRESS_SPACE = 0xF_0000_0000
"""Where the program's memory ends: the model's caches hold addresses below 64 GiB."""

_RAM_BYTES = 0xF_FFFF_F000
_PAGE_BYTES = 16 << 10  # of Raspberry Pi OS on a Pi 5
_POLL_SECONDS = 0.5
_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ")


@dataclass(frozen=True, slots=True)
class Marks:
    """Functions of the program, by symbol. All that they call is part of them.

    `barriers`: threads wait in them for each other. The clock of one that enters stops, and goes on, when it leaves, at
    the time of the latest arrival; how often it looks is not modeled. `idle`: functions that wait for work, whose time
    does not count, except in `work` functions that they call.
    """

    regions: tuple[str, ...] = ()
    barriers: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    work: tuple[str, ...] = ()

    def arguments(self, program: Program) -> dict[str, list[str]]:
        """As the plug-in takes them. Raises UserError for a symbol that the program lacks."""
        kinds = {"barrier": self.barriers, "idle": self.idle, "work": self.work}
        counted = {name for names in kinds.values() for name in names}  # as regions are
        kinds["region"] = tuple(name for name in self.regions if name not in counted)
        return {kind: [hex(program.address_of(name)) for name in names] for kind, names in kinds.items() if names}


def run_linux(
    board: Board,
    command: Sequence[str | Path],
    *,
    mode: Mode = "timed",
    page_bytes: int = _PAGE_BYTES,
    marks: Marks = Marks(),
    threads: int | None = None,
    output: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Runs `command` to its end. Its output goes to file descriptor `output`, or where this process's goes.

    `threads` at once are modeled, all of the board's cores by default; further ones run, and the results say so.
    Raises ToolMissing without qemu-aarch64 or a compiler, UserError for programs that cannot be modeled, and BoardError
    for one that fails.
    """
    program = read_program(Path(command[0]))
    qemu = find_user_qemu(board.virtual.cpu if board.virtual else "cortex-a76")
    cores = min(board.cpu.cores, CORES_MAX)
    if threads is not None and not 1 <= threads <= cores:
        raise UserError(f"{threads} threads cannot be modeled: {board.name} has {cores} cores")
    with tempfile.TemporaryDirectory(prefix="linux-", dir=paths.runtime_dir()) as scratch:
        results, report = Path(scratch) / "results", Path(scratch) / "report"
        arguments: Mapping[str, str | list[str]] = {
            "ram_base": "0",
            "ram_bytes": hex(_RAM_BYTES),  # everything may be cached
            **model_arguments(board, page_bytes),
            "mode": mode,
            "threads": str(threads or cores),
            "results": str(results),
            "report": str(report),
            "parent": str(os.getpid()),
            **marks.arguments(program),
        }
        plugin = plugin_option(build_plugin(qemu.version), arguments)
        emulator = [str(qemu.path), "-cpu", board.virtual.cpu if board.virtual else "cortex-a76"]
        emulator += ["-R", hex(ADDRESS_SPACE), "-plugin", plugin]
        status = _run([*emulator, *map(str, command)], output, results, progress)
        if status:
            how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            raise BoardError(f"{program.path.name} {how}; nothing was modeled to its end")
        return read_results(results, program, read_report(report))


def _run(command: Sequence[str], output: int | None, results: Path, progress: Callable[[Progress], None] | None) -> int:
    """The exit status. The program's environment is small, and the same for everyone: it lies on its stack."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, env=environment) as process:
        try:
            while process.poll() is None:
                time.sleep(_POLL_SECONDS if progress else 0.02)
                if progress and (latest := read_progress(results)):
                    progress(latest)
        except BaseException:
            process.kill()
            raise
        return process.returncode
