# SPDX-License-Identifier: Apache-2.0
"""A board made of QEMU and the timing plug-in: loaded, started, watched, looked into, and ended without a trace."""

from __future__ import annotations

import atexit
import contextlib
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from maxconsole.boards import Board, MemoryRange
from maxconsole.errors import BoardError, UserError
from maxconsole.firmware.elf import read_elf
from maxconsole.probes.gdb import GdbClient
from maxconsole.schema.device_page import DEVICE_PAGE_MAGIC, DEVICE_PAGE_VERSION, DevicePage
from maxconsole.virtual import termination
from maxconsole.virtual.command import HOT_SPOTS, SOCKETS, emulator_command
from maxconsole.virtual.compiler import build_plugin
from maxconsole.virtual.hot_spots import HotSpots, read_hot_spots
from maxconsole.virtual.loading import Image, Progress, load
from maxconsole.virtual.plugin import CORES_MAX, Mode, ModelReport, read_report
from maxconsole.virtual.process import EmulatorProcess
from maxconsole.virtual.qemu import Qemu, find_qemu
from maxconsole.virtual.qmp import QmpClient
from maxconsole.virtual.races import describe
from maxconsole.virtual.ram import GuestRam
from maxconsole.virtual.runs import RunFolder
from maxconsole.virtual.uart import Uart

_START_SECONDS = 20.0
_QUIT_SECONDS = 2.0

_live: weakref.WeakSet[VirtualBoard] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Options:
    """How to run the board, on all of its cores unless `cores` says how many there are.

    `timing` False leaves the plug-in out: nothing is counted, and the device page reads 0. `mode` chooses the
    timing model. `verify` has the plug-in check every address that it derives, and `check_races` look for races
    between cores, both several times slower. `hot_spots` is code whose instructions are counted one by one, in mode
    "timed". `npu_hangs` is the number of a job of the NPU that never ends. `on_uart` gets what the UART sends, on a
    thread of its own; or `on_port` the path of a pseudo terminal that is the UART, to be opened before it returns:
    no instruction has run yet, and what is sent while nobody has it open is lost. `on_exit` is called on another
    thread when QEMU ends without being asked to. `ram_folder` puts guest RAM into a file system instead of
    anonymous memory.
    """

    cores: int | None = None
    timing: bool = True
    mode: Mode = "timed"
    verify: bool = False
    check_races: bool = False
    hot_spots: MemoryRange | None = None
    npu_hangs: int = 0
    on_uart: Callable[[bytes], None] | None = None
    on_port: Callable[[str], None] | None = None
    on_exit: Callable[[], None] | None = None
    ram_folder: Path | None = None


class VirtualBoard:
    """`board` with the firmware `elf` and, on top of it, `images`: weights, for example.

    A context manager; or call start() and close(). Also a MemoryAccess of link.transport. start() raises ToolMissing,
    UserError for a firmware or a profile that cannot be used, DoesNotFit where the host lacks memory, and BoardError
    when QEMU fails.
    """

    def __init__(
        self, board: Board, elf: Path, *, images: Sequence[Image] = (), options: Options | None = None
    ) -> None:
        if board.virtual is None:
            raise UserError(f"{board.name} is not a virtual board")
        self.board = board
        self.options = options or Options()
        self._cores = board.cpu.cores if self.options.cores is None else self.options.cores
        if not 1 <= self._cores <= min(board.cpu.cores, CORES_MAX):
            raise UserError(f"{board.name} cannot run {self._cores} cores")
        self._machine = board.virtual
        self._elf = elf
        self._images = tuple(images)
        self._lock = threading.RLock()
        self._ram: GuestRam | None = None
        self._folder: RunFolder | None = None
        self._process: EmulatorProcess | None = None
        self._qmp: QmpClient | None = None
        self._uart: Uart | None = None
        self._gdb: GdbClient | None = None
        self._held = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Life

    def start(self, progress: Progress | None = None) -> None:
        """Loads the board and lets it run. Not for a board that was started before: see reset()."""
        with self._lock:
            if sys.platform != "linux":
                raise UserError("virtual boards need Linux", hint="run this in a Linux virtual machine or container")
            if self._ram is not None:
                raise BoardError("the virtual board is running already")
            qemu = find_qemu(self._machine.cpu)
            plugin = build_plugin(qemu.version) if self.options.timing else None
            termination.hold()
            self._held = True
            try:
                self._folder = RunFolder()
                self._ram = GuestRam(self._machine.ram_base, self._machine.ram_bytes, self.options.ram_folder)
                _live.add(self)
                self._launch(qemu, plugin, progress)
            except BaseException:
                self.close()
                raise

    def _launch(self, qemu: Qemu, plugin: Path | None, progress: Progress | None) -> None:
        firmware = read_elf(self._elf)
        load(self._memory, firmware, self._images, self.board.name, progress)
        for name in SOCKETS:  # a process that was killed leaves them behind
            (self._run_folder.path / name).unlink(missing_ok=True)
        folder, ram = self._run_folder, self._memory
        command = emulator_command(
            self.board,
            qemu,
            plugin,
            firmware,
            ram_path=ram.path_in_child,
            folder=folder.path,
            cores=self._cores,
            mode=self.options.mode,
            verify=self.options.verify,
            check_races=self.options.check_races,
            hot_spots=self.options.hot_spots,
            npu_hangs=self.options.npu_hangs,
            uart_terminal=self.options.on_port is not None,
        )
        self._process = EmulatorProcess(
            command, log=folder.path / "qemu.log", descriptors=[ram.descriptor], on_exit=self.options.on_exit
        )
        folder.note_process(self._process.pid)
        try:
            # The reader has to be there before the first byte is: QEMU drops what nobody is connected for.
            if self.options.on_port is None:
                self._uart = Uart(self._connect("uart"), self.options.on_uart)
            self._qmp = QmpClient(self._connect("qmp"))
            if self.options.on_port is not None:
                self.options.on_port(self._qmp.terminal("uart"))
            if plugin is not None:
                self._check_plugin()
            self._qmp.execute("cont")
        except BoardError as error:
            if self._process.wait(0.2):
                raise self._process.failure() from error
            raise

    def _connect(self, name: str) -> socket.socket:
        """The socket `name` of a QEMU that is just starting."""
        path = self._run_folder.path / name
        deadline = time.monotonic() + _START_SECONDS
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(str(path))
            except (FileNotFoundError, ConnectionRefusedError) as error:
                connection.close()
                if self._emulator.wait(0.005):
                    raise self._emulator.failure() from error
                if time.monotonic() > deadline:
                    raise BoardError(f"QEMU did not start within {_START_SECONDS:.0f} s") from error
            except OSError as error:
                connection.close()
                raise BoardError(f"QEMU's socket {path} cannot be opened: {error}") from error
            else:
                return connection

    def _check_plugin(self) -> None:
        page = self.device_page()
        if (page.magic, page.version) != (DEVICE_PAGE_MAGIC, DEVICE_PAGE_VERSION):
            raise BoardError(f"the timing plug-in did not answer (magic {page.magic:#x}, version {page.version})")

    def alive(self) -> bool:
        """Whether QEMU runs. False at once when it has ended."""
        process = self._process
        return process is not None and process.alive()

    def check(self) -> None:
        """Raises BoardError when QEMU has ended, with how it ended and its last output."""
        process = self._process
        if process is None:
            raise BoardError("the virtual board is not running")
        if not process.alive():
            raise process.failure()

    def reset(self, progress: Progress | None = None) -> None:
        """Power off and on: RAM is cleared and loaded again, and QEMU is a new process. Transports must be reopened.

        A reset inside QEMU would not do: it keeps its translations of code that has been replaced.
        """
        with self._lock:
            qemu = find_qemu(self._machine.cpu)
            plugin = build_plugin(qemu.version) if self.options.timing else None
            self._end_process()
            self._memory.clear()
            self._launch(qemu, plugin, progress)

    def reflash(self, elf: Path, *, images: Sequence[Image] | None = None, progress: Progress | None = None) -> None:
        """reset() with another firmware and, unless None, other images."""
        with self._lock:
            self._elf = elf
            if images is not None:
                self._images = tuple(images)
            self.reset(progress)

    def close(self) -> None:
        """Ends QEMU and removes all that belongs to the board. Harmless the second time, and after a failed start."""
        with self._lock:
            self._end_process()
            if self._ram is not None:
                self._ram.close()
                self._ram = None
            if self._folder is not None:
                self._folder.remove()
                self._folder = None
            _live.discard(self)
            if self._held:
                self._held = False
                termination.release()

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if self._gdb is not None:
            self._gdb.close(resume=False)
            self._gdb = None
        if process is not None:
            process.ending()
            if self._qmp is not None and process.alive():
                with contextlib.suppress(BoardError):
                    self._qmp.execute("quit")
                process.wait(_QUIT_SECONDS)
            process.kill()
        if self._qmp is not None:
            self._qmp.close()
            self._qmp = None
        if self._uart is not None:
            self._uart.close()
            self._uart = None

    # Memory and UART

    def read(self, address: int, size: int, /) -> bytes:
        """A copy of physical memory, also of a board that has crashed."""
        return self._memory.read(address, size)

    def write(self, address: int, data: bytes, /) -> None:
        """Stores to physical memory. For data: code that ran stays translated until reset()."""
        self._memory.write(address, data)

    def view(self, address: int, size: int, /) -> memoryview:
        """Physical memory itself."""
        return self._memory.view(address, size)

    def device_page(self) -> DevicePage:
        """A snapshot of the timing model's register page."""
        return DevicePage.unpack(self._memory.view(self._machine.device_page, DevicePage.SIZE))

    def uart_text(self) -> str:
        """The last megabyte that the UART sent since the last start; "" with `on_port`. Not safe to print as it is."""
        uart = self._uart
        return "" if uart is None else uart.text().decode("utf-8", "replace")

    def write_uart(self, data: bytes) -> None:
        """Sends to the board's UART."""
        if self._uart is None:
            raise BoardError("the virtual board is not running, or its UART is a terminal that others have open")
        self._uart.write(data)

    def model_report(self) -> ModelReport:
        """What the timing model could not follow so far."""
        if not self.options.timing:
            raise BoardError("the virtual board runs without its timing plug-in")
        return read_report(self._run_folder.path / "report")

    def hot_spots(self) -> HotSpots:
        """What each instruction of `Options.hot_spots` has cost so far; only exact while the cores idle."""
        if self.options.hot_spots is None:
            raise BoardError("the virtual board does not count single instructions")
        return read_hot_spots(self._run_folder.path / HOT_SPOTS)

    def races(self) -> tuple[str, ...]:
        """What `check_races` has found so far, in words."""
        return describe(self.model_report().findings, self._elf)

    # Cores

    @property
    def gdb_socket(self) -> Path:
        """The GDB stub, for other debuggers: free until a method below is called, and again after resume()."""
        return self._run_folder.path / "gdb"

    @contextlib.contextmanager
    def debugger(self) -> Iterator[GdbClient]:
        """The cores behind QEMU's stub, halted; the connection is kept until resume(), reset() or close()."""
        with self._lock:
            self.check()
            if self._gdb is None or not self._gdb.alive():
                self._gdb = GdbClient(self.gdb_socket)
            self._gdb.halt()
            yield self._gdb

    def halt(self) -> None:
        """Stops all cores. Modeled time stands still too."""
        with self.debugger():
            pass

    def resume(self) -> None:
        """Lets all cores run, and gives the stub free for others."""
        with self._lock:
            self.check()
            if self._gdb is not None:
                self._gdb.close(resume=True)
                self._gdb = None

    def registers(self, core: int = 0) -> Mapping[str, int]:
        """x0 to x30, sp, pc and cpsr of `core`, which is halted for it and stays so."""
        with self.debugger() as gdb:
            threads = gdb.threads()
            if not 0 <= core < len(threads):
                raise BoardError(f"the board has no core {core}")
            gdb.select(threads[core])
            return gdb.registers()

    @property
    def pc(self) -> int:
        """Program counter of the first core, which is halted for it and stays so."""
        return self.registers()["pc"]

    # What must be there while the board runs

    @property
    def _memory(self) -> GuestRam:
        if self._ram is None:
            raise BoardError("the virtual board is not running")
        return self._ram

    @property
    def _run_folder(self) -> RunFolder:
        if self._folder is None:
            raise BoardError("the virtual board is not running")
        return self._folder

    @property
    def _emulator(self) -> EmulatorProcess:
        if self._process is None:
            raise BoardError("the virtual board is not running")
        return self._process


@atexit.register
def _close_all() -> None:
    for board in list(_live):
        board.close()
