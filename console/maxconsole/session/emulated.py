# SPDX-License-Identifier: Apache-2.0
"""The virtual board as a session's machine."""

from __future__ import annotations

import struct
import time
from pathlib import Path

from maxconsole.boards import MemoryRange
from maxconsole.errors import BoardError
from maxconsole.firmware.elf import RTT_SYMBOL, read_elf
from maxconsole.link.rtt import RttTransport
from maxconsole.link.serial import SerialTransport
from maxconsole.link.transport import MemoryAccess, Transport
from maxconsole.session.machine import Badge, Load, StoppedCore
from maxconsole.session.progress import Progress
from maxconsole.virtual import HotSpots, Options, VirtualBoard

_FRAMES_MAX = 16
#: A frame record of the AArch64 procedure call standard: the caller's frame pointer, and the return address.
_FRAME_RECORD = struct.Struct("<QQ")
#: An emulator's terminal closes a moment before the emulator has ended.
_END_PATIENCE = 1.0
_END_PAUSE = 0.01


class EmulatedMachine:
    """See maxconsole.session.machine.Machine."""

    def __init__(self, load: Load, progress: Progress) -> None:
        """Starts the board. Raises what VirtualBoard.start raises."""
        self._baud = load.board.uart.baud
        self._port: SerialTransport | None = None
        self._uart = load.board.link.transport == "uart"
        options = Options(
            timing=load.timing != "off",
            mode="fast" if load.timing == "fast" else "timed",
            check_races=load.check_races,
            hot_spots=_code(load.elf) if load.hot_spots else None,
            on_port=self._open_port if self._uart else None,
        )
        self._virtual = VirtualBoard(load.board, load.elf, images=load.extra, options=options)
        self._elf = load.elf
        self._progress = progress
        self._timing = load.timing
        try:
            self._virtual.start(lambda done, total: progress("flash", done, total))
        except BaseException:
            self._close_port()
            raise

    @property
    def memory(self) -> MemoryAccess:
        """The emulated RAM itself."""
        return self._virtual

    @property
    def badge(self) -> Badge:
        """That of the timing model, or of none."""
        version = None if self._timing == "off" else self._virtual.device_page().model_version
        return Badge(modelled=True, model_version=version, timing=self._timing)

    def transport(self, timeout: float) -> Transport:
        """The RTT rings in shared memory; or the UART, which can be had once."""
        if self._uart:
            port, self._port = self._port, None
            if port is None:
                raise BoardError("the board's UART is in use already")
            return _WatchedPort(port, self._virtual)
        block = read_elf(self._elf).address_of(RTT_SYMBOL)
        return RttTransport.attach(self._virtual, block, timeout=timeout, check=self._check_boot)

    def races(self) -> tuple[str, ...]:
        """See VirtualBoard.races."""
        return self._virtual.races()

    def hot_spots(self) -> HotSpots:
        """What each instruction has cost so far; see VirtualBoard.hot_spots."""
        return self._virtual.hot_spots()

    def early_departures(self) -> int:
        """How often a core went on before all had come to its barrier."""
        return self._virtual.model_report().early_departures

    def check(self) -> None:
        """Raises BoardError when the emulator has ended."""
        self._virtual.check()

    def _check_boot(self) -> None:
        """Ends waiting for a board that is dead, or that nobody waits for any more."""
        self.check()
        self._progress("boot", 0, 0)

    def halt(self) -> tuple[StoppedCore, ...]:
        """Stops the cores through the emulator's debug stub."""
        stopped = []
        with self._virtual.debugger() as debugger:
            for number, thread in enumerate(debugger.threads()):
                debugger.select(thread)
                registers = debugger.registers()
                calls = self._return_addresses(registers["x29"])
                stopped.append(StoppedCore(number, registers["pc"], calls))
        return tuple(stopped)

    def uart_text(self) -> str:
        """The last megabyte; nothing where the UART is the link."""
        return self._virtual.uart_text()

    def close(self) -> None:
        """Ends the emulator."""
        self._close_port()
        self._virtual.close()

    def _open_port(self, path: str) -> None:
        self._port = SerialTransport(path, self._baud)

    def _close_port(self) -> None:
        if self._port is not None:
            self._port.close()
            self._port = None

    def _return_addresses(self, frame: int) -> tuple[int, ...]:
        """Walks the frame records up; a chain that leaves memory or does not ascend ends there."""
        found: list[int] = []
        while frame and len(found) < _FRAMES_MAX:
            try:
                caller, address = _FRAME_RECORD.unpack(self._virtual.read(frame, _FRAME_RECORD.size))
            except BoardError:
                break
            if address:
                found.append(address - 4)  # the call, not what follows it
            if caller <= frame:
                break
            frame = caller
        return tuple(found)


def _code(elf: Path) -> MemoryRange:
    """All code of an image."""
    image = read_elf(elf)
    start = image.address_of("__text_start")
    return MemoryRange(start, image.address_of("__text_end") - start, "code")


class _WatchedPort:
    """The UART's terminal. When it fails because the emulator has ended, that is what is said."""

    def __init__(self, port: SerialTransport, virtual: VirtualBoard) -> None:
        self._port = port
        self._virtual = virtual

    def read(self, timeout: float, /) -> bytes:
        """See Transport."""
        try:
            return self._port.read(timeout)
        except BoardError:
            self._blame()
            raise

    def write(self, data: bytes, /) -> None:
        """See Transport."""
        try:
            self._port.write(data)
        except BoardError:
            self._blame()
            raise

    def close(self) -> None:
        """See Transport."""
        self._port.close()

    def _blame(self) -> None:
        end = time.monotonic() + _END_PATIENCE
        while self._virtual.alive() and time.monotonic() < end:
            time.sleep(_END_PAUSE)
        self._virtual.check()
