# SPDX-License-Identifier: Apache-2.0
"""A bare QEMU for boot tests: without the plug-in and without the console's own machine, so that what is tested is the
firmware alone, and entry levels and core counts can be chosen."""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from maxconsole.boards import Board
from maxconsole.firmware.elf import read_elf
from maxconsole.link.client import Link
from maxconsole.link.frames import Counters, Frame
from maxconsole.link.messages import News
from maxconsole.link.rtt import RttTransport

_ATTACH_TIMEOUT = 10.0

T = TypeVar("T")


class SharedRam:
    """The emulated machine's RAM as a MemoryAccess."""

    def __init__(self, path: Path, base: int, size: int) -> None:
        path.touch(0o600)
        os.truncate(path, size)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), size)
        self._view = memoryview(self._map)
        self._base = base

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.view(address, size))

    def write(self, address: int, data: bytes) -> None:
        self.view(address, len(data))[:] = data

    def view(self, address: int, size: int) -> memoryview:
        start = address - self._base
        assert 0 <= start <= len(self._view) - size
        return self._view[start : start + size]


class Journal:
    """Everything that came, for a test to look at afterwards."""

    def __init__(self) -> None:
        self.news: list[News] = []

    def accept(self, news: Sequence[News], counters: Counters, at_ns: int, /) -> None:
        self.news += news

    def of(self, kind: type[T]) -> list[T]:
        return [one for one in self.news if isinstance(one, kind)]

    def records(self, type_: int, size: int) -> Iterator[bytes]:
        """The records in all frames of `type_`."""
        for frame in self.of(Frame):
            if frame.type == type_:
                yield from (frame.payload[at : at + size] for at in range(0, len(frame.payload), size))


@dataclass(frozen=True, slots=True)
class Machine:
    """A running QEMU."""

    process: subprocess.Popen[bytes]
    memory: SharedRam
    symbols: Mapping[str, int]
    uart: Path

    def transport(self) -> RttTransport:
        return RttTransport.attach(self.memory, self.symbols["_SEGGER_RTT"], timeout=_ATTACH_TIMEOUT)

    @contextlib.contextmanager
    def link(self, transport: RttTransport | None = None) -> Iterator[tuple[Link, Journal]]:
        journal = Journal()
        link = Link(transport or self.transport(), journal)
        try:
            yield link, journal
        finally:
            link.close()

    def uart_text(self) -> str:
        return self.uart.read_text(errors="replace") if self.uart.exists() else ""

    def cpu_seconds(self) -> float:
        """Processor time that QEMU has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


#: The fixtures `run` and `build_program`, see conftest.py.
Boot = Callable[..., contextlib.AbstractContextManager[Machine]]
BuildProgram = Callable[..., Path]


@contextlib.contextmanager
def boot(
    elf: Path,
    board: Board,
    folder: Path,
    *,
    weights: bytes = b"",
    cores: int = 1,
    el2: bool = False,
    count_instructions: bool = False,
) -> Iterator[Machine]:
    """Starts `elf` with `weights` at the start of the weight pool.

    With `count_instructions` the emulated core has a PMU whose cycles are instructions, exactly.
    """
    virtual = board.virtual
    assert virtual is not None
    ram, uart = folder / "ram", folder / "uart"
    memory = SharedRam(ram, virtual.ram_base, virtual.ram_bytes)
    image = read_elf(elf)
    for segment in image.segments:
        # Memory is not zero at power-on.
        memory.write(segment.address, segment.data.ljust(segment.memory_bytes, b"\xa5"))
    symbols = {name: symbol.address for name, symbol in image.symbols.items()}
    memory.write(symbols["__weight_pool_start"], weights)
    machine = f"{virtual.machine},memory-backend=ram" + (",virtualization=on" if el2 else "")
    backend = f"memory-backend-file,id=ram,size={virtual.ram_bytes},mem-path={ram},share=on"
    command = ["qemu-system-aarch64", "-M", machine, "-cpu", virtual.cpu, "-smp", str(cores)]
    command += [
        "-m",
        str(virtual.ram_bytes >> 20),
        "-object",
        backend,
        "-device",
        f"loader,addr={image.entry:#x},cpu-num=0",
    ]
    command += ["-serial", f"file:{uart}", "-display", "none", "-monitor", "none", "-nic", "none"]
    if count_instructions:
        command += ["-icount", "shift=0"]
    with subprocess.Popen(command) as process:
        try:
            yield Machine(process, memory, symbols, uart)
        finally:
            process.kill()
