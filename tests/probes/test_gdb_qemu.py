# SPDX-License-Identifier: Apache-2.0
"""The client against QEMU's own stub."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from maxconsole.errors import BoardError
from maxconsole.probes.gdb import GdbClient
from maxconsole.virtual.qemu import find_qemu

pytestmark = pytest.mark.system

CODE = 0x4020_0000
DATA = 0x4100_0000
PROGRAM = """
        .global _start
_start: mov     x1, #0
again:  add     x1, x1, #1
        bl      leaf
        b       again
leaf:   add     x2, x1, x1
        ret
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gdb")
    source = folder / "program.S"
    source.write_text(PROGRAM, "ascii")
    command = ["aarch64-linux-gnu-gcc", "-nostdlib", "-static", f"-Wl,-Ttext={CODE:#x}", "-Wl,--build-id=none"]
    subprocess.run([*command, source, "-o", folder / "program.elf"], check=True, timeout=60)
    return folder / "program.elf"


@pytest.fixture
def machine(program: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A QEMU that runs the program on two cores, the second one parked, and its stub's socket."""
    socket = tmp_path / "gdb"
    command = [find_qemu().path, "-M", "virt", "-cpu", "cortex-a76", "-smp", "2", "-m", "64M", "-nodefaults"]
    command += ["-display", "none", "-kernel", program, "-gdb", f"unix:{socket},server=on,wait=off"]
    with subprocess.Popen(command) as process:
        while not socket.exists():
            time.sleep(0.005)
        time.sleep(0.1)
        yield process, socket
        process.kill()


@pytest.fixture
def client(machine: tuple[subprocess.Popen[bytes], Path]) -> Iterator[GdbClient]:
    made = GdbClient(machine[1])
    yield made
    made.close()


def test_connecting_halts_a_running_machine(client: GdbClient) -> None:
    assert not client.running
    assert CODE <= client.read_register("pc") < CODE + 24
    assert client.registers()["pc"] == client.read_register("pc")


def test_registers_can_be_read_and_written_at_full_width(client: GdbClient) -> None:
    assert {"x0", "x30", "sp", "pc", "cpsr"} <= set(client.registers())
    client.write_register("x5", 0xFEDC_BA98_7654_3210)
    assert client.registers()["x5"] == client.read_register("x5") == 0xFEDC_BA98_7654_3210
    with pytest.raises(BoardError, match="no register x77"):
        client.read_register("x77")


def test_system_registers_have_names(client: GdbClient) -> None:
    names = set(client.register_names)
    assert any(name.lower().startswith("esr_el1") for name in names)
    assert client.read_register("cpsr") & 0xF == 5  # EL1h


def test_memory_comes_back(client: GdbClient) -> None:
    data = os.urandom(10_000)
    client.write(DATA, data)
    assert client.read(DATA, len(data)) == data
    with pytest.raises(BoardError, match="refused memory at 0xffffffff00000000"):
        client.read(0xFFFF_FFFF_0000_0000, 16)


def test_a_breakpoint_stops_and_a_step_advances(client: GdbClient) -> None:
    leaf = CODE + 16
    for hardware in (False, True):
        client.set_breakpoint(leaf, hardware=hardware)
        client.resume()
        assert client.wait_for_stop(5)
        assert client.read_register("pc") == leaf
        before = client.read_register("x1")
        client.step()
        assert client.read_register("pc") == leaf + 4
        client.resume()
        assert client.wait_for_stop(5)
        assert client.read_register("x1") == before + 1
        client.clear_breakpoint(leaf, hardware=hardware)
    with pytest.raises(BoardError, match="refused the breakpoint"):
        client.clear_breakpoint(leaf)


def test_halting_a_running_target_is_quick(client: GdbClient) -> None:
    for _ in range(5):
        client.resume()
        assert client.running
        began = time.monotonic()
        client.halt()
        assert time.monotonic() - began < 1
        assert not client.running


def test_each_core_can_be_selected(client: GdbClient) -> None:
    first, second = client.threads()
    client.select(second)
    assert client.registers()["x1"] == 0
    client.select(first)
    assert client.registers()["x1"] > 0


def test_the_monitor_answers(client: GdbClient) -> None:
    assert "paused" in client.monitor("info status")
    assert "unknown command" in client.monitor("no-such-command")


def test_physical_addresses_can_be_asked_for(client: GdbClient) -> None:
    assert client.physical_addresses(True)
    client.write(DATA, b"physical")
    assert client.physical_addresses(False)
    assert client.read(DATA, 8) == b"physical"


def test_closing_lets_the_target_run(machine: tuple[subprocess.Popen[bytes], Path]) -> None:
    GdbClient(machine[1]).close()
    client = GdbClient(machine[1])
    first = client.read_register("x1")
    client.close()
    time.sleep(0.05)
    client = GdbClient(machine[1])
    assert client.read_register("x1") > first
    client.close()


def test_the_death_of_the_emulator_is_noticed(machine: tuple[subprocess.Popen[bytes], Path], client: GdbClient) -> None:
    assert client.alive()
    machine[0].send_signal(signal.SIGKILL)
    machine[0].wait(5)
    assert not client.alive()
    with pytest.raises(BoardError, match=r"closed the connection|is lost"):
        client.registers()
