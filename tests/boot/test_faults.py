# SPDX-License-Identifier: Apache-2.0
"""The memory map forbids what it should, and every fault arrives as FAULT and as text on the UART."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from boot_machine import Boot, BuildProgram, Machine

from maxconsole.firmware.symbols import Symbolizer
from maxconsole.schema import wire

pytestmark = pytest.mark.system

_WRITE = 1 << 6


@dataclass(frozen=True, slots=True)
class Case:
    """What to do wrong (its number in programs/faults.c), and what has to be reported."""

    number: int
    exception_class: int
    status: int  # fault status code, of aborts
    function: str  # that ELR lies in
    text: str


CASES = {
    "write to code": Case(1, 0x25, _WRITE | 0x0F, "misbehave", "permission fault, level 3 (write)"),
    "write to read-only data": Case(2, 0x25, _WRITE | 0x0F, "misbehave", "permission fault, level 3 (write)"),
    "write to the weights": Case(3, 0x25, _WRITE | 0x0E, "misbehave", "permission fault, level 2 (write)"),
    "execute data": Case(4, 0x21, 0x0F, "", "Instruction abort, same level: permission fault, level 3"),
    "execute the stack": Case(5, 0x21, 0x0F, "", "Instruction abort, same level: permission fault, level 3"),
    "overflow the stack": Case(6, 0x25, _WRITE | 0x07, "overflow", "translation fault, level 3 (write)"),
    "read near null": Case(7, 0x25, 0x06, "misbehave", "translation fault, level 2 (read)"),
    "write to unmapped memory": Case(8, 0x25, _WRITE | 0x05, "misbehave", "translation fault, level 1 (write)"),
    "undefined instruction": Case(9, 0x00, 0, "misbehave", "Unknown reason"),
    "panic": Case(10, 0x3C, 0, "panic", "panic number 10, as asked"),
    "fault in a leaf": Case(11, 0x25, 0x06, "leaf_fault", "translation fault, level 2 (read)"),
    "store through a broken stack pointer": Case(12, 0x25, _WRITE | 0x06, "misbehave", "(write)"),
}
FAULT_IN_SINK, PANIC_BEFORE_LINK = 13, 14


@pytest.fixture(scope="module")
def symbols(build_program: BuildProgram) -> Symbolizer:
    return Symbolizer(build_program("faults"))


def uart_after(machine: Machine, text: str, seconds: float = 5.0) -> str:
    """The UART's output once `text` has come and a line has ended after it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _, found, rest = machine.uart_text().partition(text)
        if found and "called from" in rest and rest.endswith("\n"):
            break
        time.sleep(0.02)
    return machine.uart_text()


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_reported_with_its_cause_and_its_callers(run: Boot, symbols: Symbolizer, name: str) -> None:
    case = CASES[name]
    with run("faults", weights=case.number.to_bytes(4, "little")) as machine, machine.link() as (link, _):
        fault = link.receive(10)
        assert isinstance(fault, wire.Fault)
        assert fault.esr >> 26 == case.exception_class
        if case.exception_class in (0x21, 0x25):
            assert fault.esr & (_WRITE | 0x3F) == case.status
        assert case.text in fault.tail.decode()
        assert fault.kind == (wire.FaultKind.PANIC if name == "panic" else wire.FaultKind.EXCEPTION)
        assert symbols.symbolize(fault.elr).function == case.function

        callers = [symbols.symbolize(pc - 4).function for pc in fault.backtrace[: fault.backtrace_count]]
        if name == "overflow the stack":
            assert callers == ["overflow"] * wire.BACKTRACE_MAX
        else:
            inner = [] if case.function == "misbehave" else ["misbehave"]
            assert callers == [*inner, "middle", "main", "_start"]
        assert case.text in uart_after(machine, f"{fault.elr:016x}")


def far_of(run: Boot, name: str) -> tuple[int, Machine]:
    with run("faults", weights=CASES[name].number.to_bytes(4, "little")) as machine, machine.link() as (link, _):
        fault = link.receive(10)
        assert isinstance(fault, wire.Fault)
        return fault.far, machine


def test_the_fault_address_of_a_write_is_the_address_written(run: Boot) -> None:
    far, machine = far_of(run, "write to code")
    assert far == machine.symbols["main"]


def test_the_fault_address_of_a_stack_overflow_lies_in_the_guard_page(run: Boot) -> None:
    far, machine = far_of(run, "overflow the stack")
    assert machine.symbols["__stack_guard"] <= far < machine.symbols["__stack_bottom"]


def test_registers_are_those_of_the_moment_of_the_fault(run: Boot) -> None:
    with run("faults", weights=CASES["fault in a leaf"].number.to_bytes(4, "little")) as machine:
        with machine.link() as (link, _):
            fault = link.receive(10)
        assert isinstance(fault, wire.Fault)
        assert fault.x[0] == fault.far == 24
        assert machine.symbols["__stack_bottom"] < fault.sp < machine.symbols["__stack_top"]
        assert fault.spsr & 0xF == 0x4  # EL1 on SP_EL0


def test_a_fault_inside_the_report_still_reaches_the_uart(run: Boot) -> None:
    with run("faults", weights=FAULT_IN_SINK.to_bytes(4, "little")) as machine:
        text = uart_after(machine, "the report of a fault faulted itself")
    assert "the sink after this one faults" in text
    assert "the report of a fault faulted itself" in text


def test_a_panic_before_the_link_is_up_reaches_the_uart(run: Boot) -> None:
    with run("faults", weights=PANIC_BEFORE_LINK.to_bytes(4, "little")) as machine:
        assert "nobody but the UART can hear this" in uart_after(machine, "*** panic on core 0")


def test_a_core_that_has_given_up_sleeps(run: Boot) -> None:
    with run("faults", weights=CASES["panic"].number.to_bytes(4, "little")) as machine:
        with machine.link() as (link, _):
            assert isinstance(link.receive(10), wire.Fault)
        before = machine.cpu_seconds()
        time.sleep(1)
        assert machine.cpu_seconds() - before < 0.05


def test_a_fault_waits_for_a_console_that_does_not_read_yet(run: Boot) -> None:
    with run("faults", weights=CASES["panic"].number.to_bytes(4, "little")) as machine:
        uart_after(machine, "as asked")
        time.sleep(0.2)
        with machine.link() as (link, _):
            assert isinstance(link.receive(10), wire.Fault)
