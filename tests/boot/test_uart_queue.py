# SPDX-License-Identifier: Apache-2.0
"""The queue in front of the UART: whole frames or nothing, in order, whatever the line does."""

from __future__ import annotations

import ctypes
from itertools import count
from pathlib import Path

import pytest
import uart_model
from hypothesis import given, settings
from hypothesis import strategies as st

QUEUE = 8192
WAKE, TRANSMIT = 0x50, 0x20

_folders = count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uart")


@pytest.fixture
def uart(folder: Path) -> ctypes.CDLL:
    """A driver that has just been switched on."""
    own = folder / str(next(_folders))
    own.mkdir()
    driver = uart_model.build(own)
    driver.uart_listen()
    return driver


def sent(uart: ctypes.CDLL) -> bytes:
    """Everything that has gone over the line."""
    return bytes(uart.line_data()[: uart.line_bytes()])


def finish(uart: ctypes.CDLL) -> bytes:
    """The same after the line has carried all of it away."""
    while uart.in_fifo():
        uart.line_moves(uart_model.FIFO)
        uart.uart_room()
    return sent(uart)


#: How many bytes to send, or how many the line carries away.
STEPS = st.lists(
    st.tuples(st.just("send"), st.integers(1, 1100)) | st.tuples(st.just("line"), st.integers(1, 4000)), max_size=60
)


def test_any_traffic_arrives_whole_and_in_order(uart: ctypes.CDLL) -> None:
    numbers = count()
    expected = b""

    @given(STEPS)
    @settings(max_examples=200, deadline=None)
    def traffic(steps: list[tuple[str, int]]) -> None:
        nonlocal expected
        for what, size in steps:
            if what == "line":
                for _ in range(size // uart_model.FIFO + 1):
                    uart.line_moves(min(size, uart_model.FIFO))
                    uart.uart_room()
                continue
            data = bytes(next(numbers) % 251 for _ in range(size))
            room = uart.uart_room()
            assert uart.uart_queue(data, size) == (size <= room)
            if size <= room:
                expected += data
            waiting = QUEUE - uart.uart_room()
            assert uart.interrupt_mask() == (WAKE | TRANSMIT if waiting else WAKE)
        assert expected.startswith(sent(uart))

    traffic()
    assert finish(uart) == expected
    assert uart.uart_room() == QUEUE
    assert uart.interrupt_mask() == WAKE


def test_a_line_that_does_not_move_refuses_frames_and_does_not_hold_anyone_up(uart: ctypes.CDLL) -> None:
    frame = bytes(range(256)) * 4
    taken = 0
    while uart.uart_queue(frame, len(frame)):
        taken += 1
    assert taken == (QUEUE + uart_model.FIFO) // len(frame)
    uart.uart_drain()
    assert sent(uart) == b""
    assert finish(uart) == frame * taken


def test_what_the_console_sends_is_taken_as_far_as_there_is_room(uart: ctypes.CDLL) -> None:
    for byte in b"0123456789":
        uart.console_sends(byte)
    out = ctypes.create_string_buffer(8)
    assert uart.uart_receive(out, 8) == 8
    assert out.raw == b"01234567"
    assert uart.uart_receive(out, 8) == 2
    assert uart.uart_receive(out, 8) == 0
