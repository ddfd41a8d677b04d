# SPDX-License-Identifier: Apache-2.0
"""The firmware's UART queue on the machine that runs the tests, in front of a PL011 whose FIFOs fill and drain.

QEMU's transmitter is never full, so what the queue does when it is must be tried here. The driver is compiled as C++,
in which a register can be an object that notices how it is used.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from maxconsole import paths

FIFO = 32

_REGISTERS = """
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <deque>
#include <vector>

static std::deque<uint8_t> transmit, receive;
static std::vector<uint8_t> line;

struct data_register {
    void operator=(uint32_t byte) { transmit.push_back((uint8_t)byte); }
    operator uint32_t() { uint8_t byte = receive.front(); receive.pop_front(); return byte; }
};
struct flag_register {
    operator uint32_t() const { return (receive.empty() ? 1u << 4 : 0) | (transmit.size() >= FIFO ? 1u << 5 : 0); }
};
struct registers { data_register data; flag_register flags; uint32_t control, interrupt_mask; };
static registers model, *const uart = &model;

#define RECEIVE_EMPTY (1u << 4)
#define TRANSMIT_FULL (1u << 5)
#define RECEIVE_ENABLE (1u << 9)
#define INTERRUPT_RECEIVE (1u << 4)
#define INTERRUPT_TRANSMIT (1u << 5)
#define INTERRUPT_PAUSE (1u << 6)
#define TRIES 100u
"""
_HOST = """
#include <string.h>
#include "hal/pl011.h"
extern "C" {
#include "hal/uart_link.c"
void gic_wake_by(unsigned interrupt) { (void)interrupt; }
/// The line carries up to `count` bytes away.
void line_moves(unsigned count) {
    for (; count && !transmit.empty(); count--) { line.push_back(transmit.front()); transmit.pop_front(); }
}
void console_sends(uint8_t byte) { receive.push_back(byte); }
size_t line_bytes(void) { return line.size(); }
const uint8_t *line_data(void) { return line.data(); }
size_t in_fifo(void) { return transmit.size(); }
uint32_t interrupt_mask(void) { return model.interrupt_mask; }
}
"""


def build(folder: Path) -> ctypes.CDLL:
    """The driver, with functions that play the line and the console."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler for this machine")
    (folder / "hal").mkdir()
    (folder / "arch").mkdir()
    (folder / "hal/pl011.h").write_text(_REGISTERS)
    (folder / "arch/string.h").write_text("#include <string.h>\n")
    (folder / "host.cpp").write_text(_HOST)
    library = folder / "uart.so"
    options = ["-shared", "-fPIC", "-std=c++17", "-Wall", "-Werror", f"-DFIFO={FIFO}", "-DBOARD_UART_INTERRUPT=33"]
    command = [compiler, *options, f"-I{folder}", f"-I{paths.firmware_dir()}", "host.cpp", "-o", library]
    subprocess.run(command, cwd=folder, check=True)
    loaded = ctypes.CDLL(str(library))
    for name in ("uart_room", "uart_receive", "line_bytes", "in_fifo"):
        getattr(loaded, name).restype = ctypes.c_size_t
    loaded.uart_queue.restype = ctypes.c_bool
    loaded.line_data.restype = ctypes.POINTER(ctypes.c_uint8)
    return loaded
