# SPDX-License-Identifier: Apache-2.0
"""A client of GDB's remote protocol, for QEMU's stub and those of debug probes.

Stubs differ; what one can do is asked, not assumed. QEMU's has no binary writes and no ack-free mode, answers single
registers only once its target description was read, and drops packets that are too long without a word.
"""

from __future__ import annotations

import binascii
import contextlib
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from maxconsole.errors import BoardError
from maxconsole.probes import rsp
from maxconsole.probes.gdb_connection import GdbConnection, show
from maxconsole.probes.gdb_registers import Register, read_description, unpack_general

_SECONDS = 3.0
_OVERHEAD = 64  # of a packet around its data: command, address, length, checksum


class GdbClient:
    """The target behind the stub at a unix socket's path, or at (host, port). Connecting halts it.

    One call at a time is carried out, whichever thread makes it. Every method raises BoardError when the stub refuses,
    does not answer within `timeout` seconds, or is gone.
    """

    def __init__(self, address: Path | tuple[str, int], *, timeout: float = _SECONDS) -> None:
        self._lock = threading.RLock()
        self._binary_writes: bool | None = None
        self._registers: tuple[Register, ...] = ()
        self._link = GdbConnection(address, timeout)
        try:
            self._negotiate()
        except BaseException:
            self._link.close()
            raise

    def _negotiate(self) -> None:
        # A stop reply that nobody asked for may come first: request() skips those.
        answer = self._link.request(b"qSupported:swbreak+;hwbreak+;vContSupported+").decode("ascii", "replace")
        features = dict(part.partition("=")[::2] for part in answer.split(";"))
        with contextlib.suppress(ValueError):
            self._link.packet_size = max(int(features.get("PacketSize", ""), 16), self._link.packet_size)
        if "QStartNoAckMode+" in features and self._link.request(b"QStartNoAckMode") == b"OK":
            self._link.acks = False
        if "qXfer:features:read+" in features:
            self._registers = read_description(self._read_document)
        self._link.request(b"?", stops=True)

    # Run control

    @property
    def running(self) -> bool:
        """Whether the target was told to run and has not been seen to stop."""
        with self._lock:
            while self._link.running and self._link.poll():
                pass
            return self._link.running

    def halt(self) -> None:
        """Stops all cores."""
        with self._lock:
            if self.running:
                self._link.interrupt()
                self._link.await_stop("the request to halt")

    def resume(self) -> None:
        """Lets all cores run. Returns at once."""
        with self._lock:
            if not self.running:
                self._link.send(b"c")
                self._link.running = True

    def step(self) -> None:
        """Executes one instruction of the current core."""
        with self._lock:
            self._need_halted()
            self._link.send(b"s")
            self._link.running = True
            self._link.await_stop("a step")

    def wait_for_stop(self, timeout: float) -> bool:
        """True once the target stops by itself, at a breakpoint for example; False after `timeout` seconds."""
        with self._lock:
            deadline = time.monotonic() + timeout
            while self._link.running:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                self._link.poll(remaining)
            return True

    def threads(self) -> tuple[str, ...]:
        """The stub's names of the cores."""
        with self._lock:
            self._need_halted()
            names: list[str] = []
            answer = self._link.request(b"qfThreadInfo")
            while answer.startswith(b"m"):
                names += answer[1:].decode("ascii", "replace").split(",")
                answer = self._link.request(b"qsThreadInfo")
            return tuple(names)

    def select(self, thread: str) -> None:
        """Makes registers those of the core that threads() calls `thread`."""
        with self._lock:
            self._need_halted()
            self._expect_ok(b"Hg" + thread.encode("ascii"), f"core {thread}")

    # Registers

    @property
    def register_names(self) -> tuple[str, ...]:
        """All that the target description names; empty where the stub has none."""
        return tuple(register.name for register in self._registers)

    def registers(self) -> Mapping[str, int]:
        """The general registers of the selected core: x0 to x30, sp, pc, cpsr on AArch64."""
        with self._lock:
            self._need_halted()
            if not self._registers:
                raise BoardError("the debugger stub does not describe its registers")
            return unpack_general(self._registers, self._data(self._link.request(b"g"), "the registers"))

    def read_register(self, name: str) -> int:
        """One register of the selected core, system registers included."""
        with self._lock:
            self._need_halted()
            answer = self._link.request(b"p%x" % self._register(name).number)
            return int.from_bytes(self._data(answer, f"register {name}"), "little")

    def write_register(self, name: str, value: int) -> None:
        """Sets a register of the selected core. (QEMU accepts writes to system registers, and ignores them.)"""
        with self._lock:
            self._need_halted()
            register = self._register(name)
            data = (value & ((1 << 8 * register.size) - 1)).to_bytes(register.size, "little")
            self._expect_ok(b"P%x=%s" % (register.number, binascii.hexlify(data)), f"register {name}")

    def _register(self, name: str) -> Register:
        for register in self._registers:
            if register.name == name:
                return register
        raise BoardError(f"the debugger stub knows no register {name}")

    # Memory

    def read(self, address: int, size: int, /) -> bytes:
        """`size` bytes as the selected core sees them."""
        with self._lock:
            self._need_halted()
            chunk = (self._link.packet_size - _OVERHEAD) // 2
            parts: list[bytes] = []
            for at in range(0, size, chunk):
                count = min(chunk, size - at)
                data = self._data(self._link.request(b"m%x,%x" % (address + at, count)), f"memory at {address + at:#x}")
                if len(data) != count:
                    raise BoardError(f"the debugger stub read {len(data)} of {count} bytes at {address + at:#x}")
                parts.append(data)
            return b"".join(parts)

    def write(self, address: int, data: bytes, /) -> None:
        """Stores `data`. (QEMU says OK to addresses where nothing is: read back what matters.)"""
        with self._lock:
            self._need_halted()
            if self._binary_writes is None:
                self._binary_writes = self._link.request(b"X%x,0:" % address) == b"OK"
            chunk = (self._link.packet_size - _OVERHEAD) // 2
            for at in range(0, len(data), chunk):
                part = data[at : at + chunk]
                head = b"%x,%x:" % (address + at, len(part))
                packet = b"X" + head + rsp.escape(part) if self._binary_writes else b"M" + head + binascii.hexlify(part)
                self._expect_ok(packet, f"memory at {address + at:#x}")

    def view(self, address: int, size: int, /) -> None:
        """None: memory behind a stub is not shared. (Part of link.transport.MemoryAccess.)"""
        return

    def physical_addresses(self, on: bool) -> bool:
        """Makes read and write take physical addresses, or no longer. False where the stub cannot (QEMU can)."""
        with self._lock:
            self._need_halted()
            return self._link.request(b"Qqemu.PhyMemMode:%d" % on) == b"OK"

    # Breakpoints and commands

    def set_breakpoint(self, address: int, *, hardware: bool = False) -> None:
        """Stops the target before it executes the instruction at `address`."""
        with self._lock:
            self._need_halted()
            self._expect_ok(b"Z%d,%x,4" % (hardware, address), f"a breakpoint at {address:#x}")

    def clear_breakpoint(self, address: int, *, hardware: bool = False) -> None:
        """Takes one away that set_breakpoint made."""
        with self._lock:
            self._need_halted()
            self._expect_ok(b"z%d,%x,4" % (hardware, address), f"the breakpoint at {address:#x}")

    def monitor(self, command: str) -> str:
        """Has the stub itself carry out `command`; what it prints."""
        with self._lock:
            self._need_halted()
            self._link.send(b"qRcmd," + binascii.hexlify(command.encode()))
            printed = bytearray()
            deadline = time.monotonic() + self._link.timeout
            while True:
                answer = self._link.answer(deadline, f"monitor {command}")
                if answer == b"OK":
                    return printed.decode("utf-8", "replace")
                if not answer.startswith(b"O"):
                    printed += self._data(answer, f"monitor {command}")
                    return printed.decode("utf-8", "replace")
                printed += binascii.unhexlify(answer[1:])

    # Connection

    def alive(self) -> bool:
        """Whether the stub is still there. Costs no packet."""
        return self._link.alive()

    def close(self, *, resume: bool = True) -> None:
        """Lets go of the target, running unless `resume` is false. Closing twice is harmless."""
        with self._lock:
            if self._link.closed:
                return
            with contextlib.suppress(BoardError):
                if resume and not self.running:
                    self._link.request(b"D")
            self._link.close()

    def _need_halted(self) -> None:
        if self.running:
            raise BoardError("the target is running", hint="halt it first")

    def _read_document(self, name: str) -> bytes:
        document = bytearray()
        while True:
            length = self._link.packet_size - _OVERHEAD
            answer = self._link.request(b"qXfer:features:read:%s:%x,%x" % (name.encode("ascii"), len(document), length))
            if answer[:1] not in (b"m", b"l"):
                raise BoardError(f"the debugger stub does not give its {name}: {show(answer)}")
            document += answer[1:]
            if answer.startswith(b"l"):
                return bytes(document)

    def _data(self, answer: bytes, what: str) -> bytes:
        if not answer:
            raise BoardError(f"the debugger stub cannot read {what}")
        if answer.startswith(b"E") and len(answer) == 3:
            raise BoardError(f"the debugger stub refused {what} (error {answer[1:].decode('ascii', 'replace')})")
        try:
            return binascii.unhexlify(answer)
        except binascii.Error as error:
            raise BoardError(f"the debugger stub's answer for {what} is not hexadecimal: {show(answer)}") from error

    def _expect_ok(self, packet: bytes, what: str) -> None:
        answer = self._link.request(packet)
        if answer != b"OK":
            raise BoardError(f"the debugger stub refused {what}: {show(answer)}")
