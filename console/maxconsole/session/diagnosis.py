# SPDX-License-Identifier: Apache-2.0
"""Why a board no longer answers, in words: the fault that it reported, or where its cores are."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Protocol

from maxconsole.errors import BoardError
from maxconsole.firmware.symbols import Location, Symbolizer
from maxconsole.link.text import printable
from maxconsole.schema import wire
from maxconsole.session.machine import Machine

_UART_LINES = 8


class Symbols:
    """The symbols of a firmware image, read when they are first needed: that takes half a second."""

    def __init__(self, elf: Path) -> None:
        self._elf = elf

    def symbolize(self, address: int) -> Location:
        """Function, file and line of the instruction at `address`. Raises UserError for an ELF that cannot be read."""
        return self._symbolizer.symbolize(address)

    @cached_property
    def _symbolizer(self) -> Symbolizer:
        return Symbolizer(self._elf)


class NoSymbols:
    """For a board whose firmware is not at hand."""

    def symbolize(self, address: int) -> Location:
        """The bare address."""
        return Location(address, "", 0, "", 0)


class Symbolizes(Protocol):
    """Whoever knows what is at an address."""

    def symbolize(self, address: int) -> Location: ...


def fault_error(fault: wire.Fault, symbols: Symbolizes) -> BoardError:
    """The firmware's own report of an exception or a panic, with function, file and line."""
    words = printable(fault.tail).strip()
    if fault.kind == wire.FaultKind.EXCEPTION:
        what = f"exception on core {fault.core} at {symbols.symbolize(fault.elr)}" + (f": {words}" if words else "")
        details = [f"ESR {fault.esr:#x}, FAR {fault.far:#x}, SP {fault.sp:#x}, SPSR {fault.spsr:#x}"]
    else:
        what = f"the firmware gave up on core {fault.core}: {words or 'no reason given'}"
        details = []
    returns = fault.backtrace[: min(fault.backtrace_count, wire.BACKTRACE_MAX)]
    details += [f"called from {symbols.symbolize(address)}" for address in returns]
    return BoardError(what, hint="\n  ".join([*details, "flash again to go on"]))


def silence_error(machine: Machine, symbols: Symbols, seconds: float, waited_for: str) -> BoardError:
    """Halts a board that has been silent for `seconds` and says where each core is.

    The board is of no more use afterwards. A machine that cannot be halted is reported as such.
    """
    what = f"the board has sent nothing for {seconds:g} s while {waited_for} was expected"
    try:
        cores = machine.halt()
    except BoardError as error:
        return BoardError(what, hint="\n  ".join([f"it could not be halted: {error.what}", *uart_lines(machine)]))
    places = [f"core {core.number} is at {symbols.symbolize(core.pc)}" for core in cores]
    callers = [f"called from {symbols.symbolize(address)}" for core in cores[:1] for address in core.backtrace]
    return BoardError(what, hint="\n  ".join([*places[:1], *callers, *places[1:], *uart_lines(machine)]))


def uart_lines(machine: Machine) -> list[str]:
    """The last lines of the UART, safe to print."""
    lines = [line for line in machine.uart_text().splitlines() if line.strip()]
    return [f"UART: {printable(line)}" for line in lines[-_UART_LINES:]]
