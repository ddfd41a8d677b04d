# SPDX-License-Identifier: Apache-2.0
"""The emulator's command line."""

from __future__ import annotations

import os
from pathlib import Path

from maxconsole.boards import Board, MemoryRange
from maxconsole.errors import UserError
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.virtual.plugin import Mode, plugin_arguments, plugin_option
from maxconsole.virtual.qemu import Qemu

SOCKETS = ("gdb", "qmp", "uart")
"""Names of the sockets in the run folder."""

HOT_SPOTS = "hot-spots"
"""There, too: what each instruction costs."""


def emulator_command(
    board: Board,
    qemu: Qemu,
    plugin: Path | None,
    firmware: FirmwareElf,
    *,
    ram_path: str,
    folder: Path,
    cores: int,
    mode: Mode,
    verify: bool,
    check_races: bool = False,
    hot_spots: MemoryRange | None = None,
    npu_hangs: int = 0,
    uart_terminal: bool = False,
) -> list[str]:
    """Starts `board` halted, with the file `ram_path` as RAM, and sockets in `folder`. No plug-in, no timing.

    With `uart_terminal` the UART is a new pseudo terminal and no socket.

    Raises ProfileError for facts that the profile leaves unknown, UserError for a board that is not virtual.
    """
    machine = board.virtual
    if machine is None:
        raise UserError(f"{board.name} is not a virtual board")
    gdb, qmp, uart = (_escaped(str(folder / name)) for name in SOCKETS)
    command = [str(qemu.path), "-nodefaults", "-no-user-config", "-display", "none", "-S"]
    command += ["-M", f"{machine.machine},memory-backend=ram", "-cpu", machine.cpu, "-smp", str(cores)]
    command += ["-m", f"{machine.ram_bytes >> 20}M", "-object"]
    command += [f"memory-backend-file,id=ram,size={machine.ram_bytes},mem-path={_escaped(ram_path)},share=on"]
    command += ["-device", f"loader,addr={firmware.entry:#x},cpu-num=0"]
    chardev = "pty,id=uart" if uart_terminal else f"socket,id=uart,path={uart},server=on,wait=off"
    command += ["-chardev", chardev, "-serial", "chardev:uart"]
    command += ["-qmp", f"unix:{qmp},server=on,wait=off", "-gdb", f"unix:{gdb},server=on,wait=off"]
    if plugin is not None:
        arguments = plugin_arguments(
            board,
            ram_path=ram_path,
            report=folder / "report",
            parent=os.getpid(),
            uncached=_mapped(firmware, "rtt"),
            transient=_mapped(firmware, "npu_pool"),
            mode=mode,
            verify=verify,
            check_races=check_races,
            hot_spots=None if hot_spots is None else (hot_spots, folder / HOT_SPOTS),
            npu_hangs=npu_hangs,
        )
        command += ["-plugin", plugin_option(plugin, arguments)]
    return command


def _escaped(value: str) -> str:
    return value.replace(",", ",,")


def _mapped(firmware: FirmwareElf, name: str) -> tuple[MemoryRange, ...]:
    """Memory that the firmware maps with attributes of its own, between two symbols: `rtt` is not cacheable, `npu_pool`
    transient. Nothing where it has none.
    """
    names = (f"__{name}_start", f"__{name}_end")
    if any(one not in firmware.symbols or not firmware.symbols[one].defined for one in names):
        return ()
    start, end = (firmware.address_of(one) for one in names)
    return (MemoryRange(start, end - start, name),) if start != end else ()
