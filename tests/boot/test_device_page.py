# SPDX-License-Identifier: Apache-2.0
"""On the virtual board the firmware reads its counters from the timing model."""

from __future__ import annotations

import struct

import pytest
from boot_machine import BuildProgram, Journal

from maxconsole.boards import Board
from maxconsole.errors import ToolMissing
from maxconsole.firmware.elf import read_elf
from maxconsole.link.client import Link
from maxconsole.link.rtt import RttTransport
from maxconsole.schema import wire
from maxconsole.virtual import VirtualBoard
from maxconsole.virtual.compiler import find_compiler
from maxconsole.virtual.qemu import find_qemu

pytestmark = pytest.mark.system

STEPS, LAYERS = 4, 30


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    try:
        find_qemu()
        find_compiler()
    except ToolMissing as error:
        pytest.skip(error.what)


def run_spans(board: Board, build_program: BuildProgram) -> tuple[list[wire.KernelEvent], wire.Status]:
    path = build_program("spans")
    elf = read_elf(path)
    asked_for = (elf.address_of("__weight_pool_start"), struct.pack("<2I", STEPS, LAYERS))
    with VirtualBoard(board, path, images=[asked_for]) as machine:
        journal = Journal()
        link = Link(RttTransport.attach(machine, elf.address_of("_SEGGER_RTT"), timeout=10), journal)
        try:
            assert isinstance(link.receive(20), wire.Done)
            while not journal.of(wire.Status):
                link.receive(0.05)
        finally:
            link.close()
    records = journal.records(wire.MessageType.KERNELS, wire.KernelEvent.SIZE)
    return [wire.KernelEvent.unpack(one) for one in records], journal.of(wire.Status)[0]


def test_events_carry_cycles_and_instructions_and_repeat_exactly(board: Board, build_program: BuildProgram) -> None:
    events, status = run_spans(board, build_program)
    assert len(events) == STEPS * (3 * LAYERS + 1)
    assert all(event.cycles > 0 and event.instructions > 0 for event in events)
    assert status.telemetry_cycles > 0
    assert run_spans(board, build_program) == (events, status)


def test_an_event_costs_little_and_says_how_much(board: Board, build_program: BuildProgram) -> None:
    events, status = run_spans(board, build_program)
    whole = sum(event.cycles for event in events if event.kernel == wire.Kernel.STEP)
    # The program does nothing but telemetry, so nearly all of its time has to be accounted for.
    assert 0.6 * whole < status.telemetry_cycles < 1.1 * whole


def test_hello_says_that_counters_are_there_and_modelled(board: Board, build_program: BuildProgram) -> None:
    path = build_program("echo")
    with VirtualBoard(board, path) as machine:
        link = Link(RttTransport.attach(machine, read_elf(path).address_of("_SEGGER_RTT"), timeout=10), Journal())
        try:
            hello = link.receive(10)
        finally:
            link.close()
    assert isinstance(hello, wire.Hello)
    assert hello.counters == wire.COUNTERS
    assert hello.counter_hz == board.cpu.clock_hz
    assert hello.flags & wire.HelloFlag.MODELLED
