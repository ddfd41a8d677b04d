# SPDX-License-Identifier: Apache-2.0
"""The life of a virtual board: start, talk, halt, reset, fail, end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulator_processes import emulators, until
from guest_programs import FOLDER

from maxconsole.boards import Board
from maxconsole.errors import BoardError, DoesNotFit, UserError
from maxconsole.firmware.elf import FirmwareElf
from maxconsole.link.serial import SerialTransport
from maxconsole.validation.guest import compile_guest, results, text_address, wait_until_finished
from maxconsole.virtual import Options, VirtualBoard

pytestmark = pytest.mark.system


@pytest.fixture
def steady(virtual_board: Board, steady_elf: FirmwareElf) -> Iterator[VirtualBoard]:
    with VirtualBoard(virtual_board, steady_elf.path, options=Options(timing=False)) as board:
        yield board


def beats(board: VirtualBoard, elf: FirmwareElf) -> int:
    return int.from_bytes(board.read(elf.address_of("beats"), 8), "little")


def test_the_uart_is_heard_from_the_first_byte_and_can_be_written(
    virtual_board: Board, steady_elf: FirmwareElf
) -> None:
    heard = bytearray()
    options = Options(timing=False, on_uart=heard.extend)
    with VirtualBoard(virtual_board, steady_elf.path, options=options) as board:
        until(lambda: "hello from the board\n" in board.uart_text())
        board.write_uart(b"echo me")
        until(lambda: board.uart_text().endswith("echo me"))
    assert bytes(heard) == b"hello from the board\necho me"


def test_the_uart_can_be_a_terminal_that_is_open_before_the_first_byte(
    virtual_board: Board, steady_elf: FirmwareElf
) -> None:
    ports: list[SerialTransport] = []
    options = Options(timing=False, on_port=lambda path: ports.append(SerialTransport(path)))
    with VirtualBoard(virtual_board, steady_elf.path, options=options) as board:
        heard = bytearray()
        until(lambda: bool(heard.extend(ports[0].read(0.1)) or heard.endswith(b"board\n")))
        assert heard == b"hello from the board\n"
        ports[0].write(b"\0echo me\xff\r\n")
        until(lambda: bool(heard.extend(ports[0].read(0.1)) or heard.endswith(b"\0echo me\xff\r\n")))
        assert board.uart_text() == ""
        with pytest.raises(BoardError, match="others have open"):
            board.write_uart(b"x")
        board.reset()
        until(lambda: len(ports) == 2 and ports[1].read(0.1) != b"")
    with pytest.raises(BoardError, match="the program behind it has ended"):
        until(lambda: ports[1].read(1) is None)
    for port in ports:
        port.close()


def test_halt_stops_all_and_resume_goes_on(steady: VirtualBoard, steady_elf: FirmwareElf) -> None:
    until(lambda: beats(steady, steady_elf) > 0)
    steady.halt()
    before = beats(steady, steady_elf)
    time.sleep(0.05)
    assert beats(steady, steady_elf) == before
    assert steady_elf.address_of("main") <= steady.pc < steady_elf.address_of("main") + 0x200
    assert steady.registers()["sp"] > text_address(steady.board)
    steady.resume()
    until(lambda: beats(steady, steady_elf) > before)
    with pytest.raises(BoardError, match="no core 4"):
        steady.registers(4)


def test_memory_is_shared_both_ways_while_the_board_runs(steady: VirtualBoard, steady_elf: FirmwareElf) -> None:
    until(lambda: beats(steady, steady_elf) > 0)

    def goes_on_from_what_was_written() -> bool:
        # The board's own increment may be under way and overwrite it: then it is written again.
        if beats(steady, steady_elf) < 1 << 40:
            steady.write(steady_elf.address_of("beats"), (1 << 40).to_bytes(8, "little"))
        return beats(steady, steady_elf) > 1 << 40

    until(goes_on_from_what_was_written)


def test_images_are_loaded_with_progress(virtual_board: Board, steady_elf: FirmwareElf) -> None:
    seen: list[tuple[int, int]] = []
    image = os.urandom(20 << 20)
    board = VirtualBoard(virtual_board, steady_elf.path, images=[(0x8800_0000, image)], options=Options(timing=False))
    try:
        board.start(lambda done, total: seen.append((done, total)))
        assert board.read(0x8800_0000, len(image)) == image
    finally:
        board.close()
    assert seen[-1][0] == seen[-1][1] > len(image)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_reset_clears_memory_and_loads_again(steady: VirtualBoard, steady_elf: FirmwareElf) -> None:
    until(lambda: beats(steady, steady_elf) > 0)
    steady.write(0x8900_0000, b"left over")
    steady.write(steady_elf.address_of("beats"), (1 << 40).to_bytes(8, "little"))
    began = time.monotonic()
    steady.reset()
    assert time.monotonic() - began < 5
    assert steady.read(0x8900_0000, 9) == bytes(9)
    until(lambda: 0 < beats(steady, steady_elf) < 1 << 40)


def test_reflash_runs_the_other_firmware(
    steady: VirtualBoard, steady_elf: FirmwareElf, measure_elf: FirmwareElf
) -> None:
    until(lambda: beats(steady, steady_elf) > 0)
    steady.reflash(measure_elf.path)
    wait_until_finished(steady, measure_elf)


def test_without_the_plugin_nothing_is_counted(steady: VirtualBoard) -> None:
    assert steady.device_page().magic == 0
    with pytest.raises(BoardError, match="without its timing plug-in"):
        steady.model_report()


def test_the_plugin_introduces_itself(virtual_board: Board, steady_elf: FirmwareElf) -> None:
    with VirtualBoard(virtual_board, steady_elf.path) as board:
        page = board.device_page()
        assert page.counter_hz == virtual_board.cpu.clock_hz
        assert page.model_version == board.model_report().model_version
        changes = (Path(__file__).parents[2] / "docs/virtual-board.md").read_text("utf-8")
        assert f"\n| {page.model_version} | " in changes.partition("## Versions of the model")[2]
        assert page.counter_events[: len(virtual_board.pmu.events)] == tuple(e.number for e in virtual_board.pmu.events)
        assert board.model_report().qemu_api >= 1


def test_two_boards_run_at_once(virtual_board: Board, measure_elf: FirmwareElf) -> None:
    with (
        VirtualBoard(virtual_board, measure_elf.path) as first,
        VirtualBoard(virtual_board, measure_elf.path) as second,
    ):
        assert first.gdb_socket != second.gdb_socket
        for board in (first, second):
            wait_until_finished(board, measure_elf)
        assert results(first, measure_elf) == results(second, measure_elf)


def test_death_by_a_signal_is_noticed_within_a_second(virtual_board: Board, steady_elf: FirmwareElf) -> None:
    noticed = threading.Event()
    options = Options(timing=False, on_exit=noticed.set)
    with VirtualBoard(virtual_board, steady_elf.path, options=options) as board:
        (pid,) = emulators(board.gdb_socket.parent)
        board.check()
        os.kill(pid, signal.SIGKILL)
        assert noticed.wait(1)
        assert not board.alive()
        with pytest.raises(BoardError, match="was killed by SIGKILL"):
            board.check()
        with pytest.raises(BoardError, match="was killed by SIGKILL"):
            board.halt()
        board.reset()
        assert board.alive()


def test_an_exit_is_told_with_the_last_words(
    virtual_board: Board, steady_elf: FirmwareElf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "maxconsole.virtual.command.plugin_arguments", lambda *_, **__: {"ram": "/nowhere", "l1d": "nonsense"}
    )
    with pytest.raises(BoardError, match=r"exit code 1; it said:\n(.|\n)*argument not understood: l1d=nonsense"):
        VirtualBoard(virtual_board, steady_elf.path).start()


def test_firmware_for_another_place_is_refused(virtual_board: Board, tmp_path: Path, steady_elf: FirmwareElf) -> None:
    sources = [FOLDER / "steady.c"]
    elf = compile_guest(virtual_board, tmp_path / "low.elf", sources, address=0x10_0000)
    with pytest.raises(UserError, match="is linked for 0x100000"):
        VirtualBoard(virtual_board, elf.path).start()


def test_a_file_system_that_is_too_small_is_refused_before_the_start(
    virtual_board: Board, steady_elf: FirmwareElf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxconsole.virtual.ram.available_memory", lambda: 64 << 20)
    with pytest.raises(DoesNotFit, match="MiB of memory"):
        VirtualBoard(virtual_board, steady_elf.path, images=[(0x8800_0000, bytes(1 << 20))]).start()


def test_ram_can_live_in_a_folder(virtual_board: Board, steady_elf: FirmwareElf, tmp_path: Path) -> None:
    options = Options(ram_folder=tmp_path)
    with VirtualBoard(virtual_board, steady_elf.path, options=options) as board:
        until(lambda: beats(board, steady_elf) > 0)


def test_nothing_is_left_after_the_end(virtual_board: Board, steady_elf: FirmwareElf, runtime_folder: Path) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    for failing in (False, True):
        try:
            with VirtualBoard(virtual_board, steady_elf.path) as board:
                folder = board.gdb_socket.parent
                assert emulators(folder)
                assert folder.stat().st_mode & 0o777 == 0o700
                if failing:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        assert emulators(folder) == []
        assert list(next(runtime_folder.iterdir()).iterdir()) == []
    assert threading.active_count() == 1
    assert len(os.listdir("/proc/self/fd")) == descriptors
    board.close()
    with pytest.raises(BoardError, match="not running"):
        board.read(0x8400_0000, 1)
