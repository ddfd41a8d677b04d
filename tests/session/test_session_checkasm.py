# SPDX-License-Identifier: Apache-2.0
"""Verdicts of the kernel test image, read from a scripted board's log."""

from __future__ import annotations

import types
from pathlib import Path

import pytest
import scripted_board
from scripted_board import ScriptedBoard

from maxconsole.errors import BoardError
from maxconsole.schema import wire
from maxconsole.session import checkasm, diagnosis
from maxconsole.session.checkasm import CheckasmResult, KernelCheck, run_checkasm
from maxconsole.session.machine import Load

LINES = [
    "booting",
    "checkasm linear_q4_0 ok cycles 1000 ref 8000 work 4096 bound 900",
    "checkasm rms_norm FAIL y[3] has the bits 3f800000, expected 3f800001",
    "checkasm done 1 passed 1 failed",
]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Load]:
    """What was flashed; the board then says `board.lines`."""
    seen: list[Load] = []
    built = types.SimpleNamespace(elf=Path("checkasm.elf"), build_id="ab" * 20)
    elf = types.SimpleNamespace(address_of=lambda name: 0x84001000)
    monkeypatch.setattr(checkasm, "build", lambda *arguments, **options: built)
    monkeypatch.setattr(checkasm, "read_elf", lambda path: elf)
    monkeypatch.setattr(diagnosis, "Symbolizer", lambda path: None)
    return seen


def run(
    monkeypatch: pytest.MonkeyPatch, loads: list[Load], lines: list[str], seed: int | None = None, *, dead: bool = False
) -> CheckasmResult:
    board = ScriptedBoard(scripted_board.answering, hello=None, dead=dead)
    for line in lines:
        board.emit(wire.MessageType.LOG, wire.Log(level=wire.LogLevel.INFO, tail=line.encode()).pack())

    def flash(load: Load, progress: object) -> ScriptedBoard:
        loads.append(load)
        return board

    monkeypatch.setattr(checkasm, "flash", flash)
    result = run_checkasm("aimax395-virtual", seed=seed)
    assert board.closed
    return result


def test_every_kernel_has_a_verdict(monkeypatch: pytest.MonkeyPatch, loads: list[Load]) -> None:
    result = run(monkeypatch, loads, LINES)
    passed, failed = result.checks
    assert passed == KernelCheck("linear_q4_0", True, cycles=1000, reference_cycles=8000, work=4096, bound_cycles=900)
    assert result.failed == (failed,)
    assert failed.detail == "y[3] has the bits 3f800000, expected 3f800001"


def test_a_seed_is_written_into_the_image(monkeypatch: pytest.MonkeyPatch, loads: list[Load]) -> None:
    run(monkeypatch, loads, LINES, seed=7)
    ((address, data),) = loads[0].extra
    assert (address, bytes(data)) == (0x84001000, b"\x07" + bytes(7))


def test_lines_that_do_not_add_up_are_an_error(monkeypatch: pytest.MonkeyPatch, loads: list[Load]) -> None:
    with pytest.raises(BoardError, match="2 passed 1 failed"):
        run(monkeypatch, loads, [*LINES[:-1], "checkasm done 2 passed 1 failed"])


def test_an_image_that_falls_silent_is_an_error(monkeypatch: pytest.MonkeyPatch, loads: list[Load]) -> None:
    with pytest.raises(BoardError, match="the emulator has ended"):
        run(monkeypatch, loads, LINES[:2], dead=True)
