# SPDX-License-Identifier: Apache-2.0
"""Runs the kernel test image on a board and reads its verdicts from the log."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from maxconsole.boards import load_board, plan_unbound
from maxconsole.errors import BoardError
from maxconsole.firmware.build import build
from maxconsole.firmware.elf import read_elf
from maxconsole.link.client import Link
from maxconsole.schema import wire
from maxconsole.session import diagnosis
from maxconsole.session.flash import check_method, flash
from maxconsole.session.machine import Badge, Load, Machine, Timing
from maxconsole.session.progress import Progress, silent
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import LogLine

_SEED_SYMBOL: Final = "checkasm_seed"
_ONLY_SYMBOL: Final = "checkasm_only"
_ONLY_BYTES: Final = 63
_ATTACH_TIMEOUT = 30.0
#: Seconds that one check may take; a virtual board on a busy host is slow.
_SILENCE = 120.0
_SLICE = 0.1

_PASSED = re.compile(
    r"checkasm (?P<name>\S+) ok cycles (?P<cycles>\d+) ref (?P<reference>\d+) work (?P<work>\d+)"
    r" bound (?P<bound>\d+)"
)
_FAILED = re.compile(r"checkasm (?P<name>\S+) FAIL (?P<detail>.*)")
_DONE = re.compile(r"checkasm done (?P<passed>\d+) passed (?P<failed>\d+) failed")


@dataclass(frozen=True, slots=True)
class KernelCheck:
    """One kernel's verdict. `detail` says how it failed; `work` is multiply-accumulates, or elements.

    `bound_cycles` is how many cycles its busiest pipe needs, counted from its source; 0 where that is not known.
    """

    name: str
    passed: bool
    detail: str = ""
    cycles: int = 0
    reference_cycles: int = 0
    work: int = 0
    bound_cycles: int = 0


@dataclass(frozen=True, slots=True)
class CheckasmResult:
    """All verdicts, in the order of the test image."""

    board: str
    build_id: str
    badge: Badge
    checks: tuple[KernelCheck, ...]

    @property
    def failed(self) -> tuple[KernelCheck, ...]:
        return tuple(check for check in self.checks if not check.passed)


def run_checkasm(
    board_name: str,
    *,
    seed: int | None = None,
    only: str = "",
    timing: Timing = "timed",
    progress: Progress = silent,
) -> CheckasmResult:
    """Builds the test image, runs it to its end and returns what it said.

    `seed` changes all random inputs; `only` is what the names of the checks to run begin with.

    Raises UserError and its kinds, BoardError when the image crashes or hangs.
    """
    board = load_board(board_name)
    check_method(board)
    built = build(
        board, plan_unbound(board), "checkasm", progress=lambda done, total, name: progress("build", done, total, name)
    )
    elf = read_elf(built.elf)
    extra = []
    if seed is not None:
        extra.append((elf.address_of(_SEED_SYMBOL), memoryview(seed.to_bytes(8, "little"))))
    if only:
        extra.append((elf.address_of(_ONLY_SYMBOL), memoryview(only.encode()[:_ONLY_BYTES])))
    symbols = diagnosis.Symbols(built.elf)
    telemetry = Telemetry()
    with closing(flash(Load(board, built.elf, extra, timing), progress)) as machine:
        badge = machine.badge
        with closing(Link(machine.transport(_ATTACH_TIMEOUT), telemetry)) as link:
            checks = []
            for check in _verdicts(link, machine, telemetry, symbols):
                checks.append(check)
                progress("checkasm", len(checks), 0, check.name)
            progress("checkasm", len(checks), len(checks))
    return CheckasmResult(board.name, built.build_id, badge, tuple(checks))


def _verdicts(link: Link, machine: Machine, telemetry: Telemetry, symbols: diagnosis.Symbols) -> Iterator[KernelCheck]:
    """Verdicts as they come, until the image says that it is done."""
    passed = failed = 0
    for line in _lines(link, machine, telemetry, symbols):
        if match := _PASSED.fullmatch(line.text):
            passed += 1
            numbers = (int(match[name]) for name in ("cycles", "reference", "work", "bound"))
            yield KernelCheck(match["name"], True, "", *numbers)
        elif match := _FAILED.fullmatch(line.text):
            failed += 1
            yield KernelCheck(match["name"], False, match["detail"])
        elif match := _DONE.fullmatch(line.text):
            if (passed, failed) != (int(match["passed"]), int(match["failed"])):
                raise BoardError(f"the test image counts {match[0]!r}, but {passed} and {failed} lines arrived")
            return


def _lines(link: Link, machine: Machine, telemetry: Telemetry, symbols: diagnosis.Symbols) -> Iterator[LogLine]:
    """Log lines as they come. Raises BoardError for a board that crashes, dies or falls silent."""
    seen = 0
    last = time.monotonic()
    death: BoardError | None = None
    while True:
        news = link.receive(_SLICE)
        if isinstance(news, wire.Fault):
            raise diagnosis.fault_error(news, symbols)
        snapshot = telemetry.snapshot()
        if snapshot.log_lines > seen:
            yield from snapshot.log[-(snapshot.log_lines - seen) :]
            seen = snapshot.log_lines
            last = time.monotonic()
        elif death is not None:
            raise death
        elif time.monotonic() - last > _SILENCE:
            raise diagnosis.silence_error(machine, symbols, _SILENCE, "the next check")
        else:
            # The image ends by switching the board off: what it said last may still have to be read.
            try:
                machine.check()
            except BoardError as error:
                death = error
