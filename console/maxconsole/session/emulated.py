# SPDX-License-Identifier: Apache-2.0
"""The virtual board as a session's machine."""

from __future__ import annotations

import struct

from maxconsole.errors import BoardError
from maxconsole.firmware.elf import RTT_SYMBOL, read_elf
from maxconsole.link.rtt import RttTransport
from maxconsole.link.transport import MemoryAccess, Transport
from maxconsole.session.machine import Badge, Load, StoppedCore
from maxconsole.session.progress import Progress
from maxconsole.virtual import Options, VirtualBoard

_FRAMES_MAX = 16
#: A frame record of the AArch64 procedure call standard: the caller's frame pointer, and the return address.
_FRAME_RECORD = struct.Struct("<QQ")


class EmulatedMachine:
    """See maxconsole.session.machine.Machine."""

    def __init__(self, load: Load, progress: Progress) -> None:
        """Starts the board. Raises what VirtualBoard.start raises."""
        self._virtual = VirtualBoard(load.board, load.elf, images=load.extra, options=Options(timing=not load.fast))
        self._rtt_block = read_elf(load.elf).address_of(RTT_SYMBOL)
        self._fast = load.fast
        self._virtual.start(lambda done, total: progress("flash", done, total))

    @property
    def memory(self) -> MemoryAccess:
        """The emulated RAM itself."""
        return self._virtual

    @property
    def badge(self) -> Badge:
        """That of the timing model, or of none."""
        if self._fast:
            return Badge(modelled=True, timed=False)
        return Badge(modelled=True, model_version=self._virtual.device_page().model_version)

    def transport(self, timeout: float) -> Transport:
        """The RTT rings in shared memory."""
        return RttTransport.attach(self._virtual, self._rtt_block, timeout=timeout, check=self._virtual.check)

    def check(self) -> None:
        """Raises BoardError when the emulator has ended."""
        self._virtual.check()

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
        """The last megabyte."""
        return self._virtual.uart_text()

    def close(self) -> None:
        """Ends the emulator."""
        self._virtual.close()

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
