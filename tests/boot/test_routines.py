# SPDX-License-Identifier: Apache-2.0
"""Routines without hardware behind them, run on the emulated core: memory functions, formatting, COBS."""

from __future__ import annotations

import random
import time

import pytest
from boot_machine import Boot, Machine
from cobs import cobs

from maxconsole.schema import wire

pytestmark = pytest.mark.system

_HEAD = 16  # a length and padding before each item


def cobs_items() -> list[bytes]:
    """Data around every limit of a code byte and of the vector steps, and random data of all densities of zeros."""
    rng = random.Random(3)
    items = [b"", b"\0", bytes(300), b"x" * 600]
    for run in range(236, 260):
        for before in (b"", b"\0"):
            items += [before + b"q" * run + after for after in (b"", b"\0", b"zz\0")]
    for _ in range(2000):
        zeros = rng.choice((0.5, 0.05, 0.01, 0.003))
        size = rng.randrange(wire.FRAME_MAX_BYTES + 1)
        items.append(bytes(0 if rng.random() < zeros else rng.randrange(1, 256) for _ in range(size)))
    return items


def packed(items: list[bytes]) -> bytes:
    """The layout that programs/units.c reads."""
    parts = [len(items).to_bytes(_HEAD, "little")]
    parts += [len(item).to_bytes(_HEAD, "little") + item + bytes(-len(item) % 16 + 16) for item in items]
    return b"".join(parts)


def unpacked(machine: Machine, count: int) -> list[bytes]:
    at = machine.symbols["__activation_pool_start"]
    assert int.from_bytes(machine.memory.read(at, 4), "little") == count
    at += _HEAD
    items = []
    for _ in range(count):
        size = int.from_bytes(machine.memory.read(at, 4), "little")
        items.append(machine.memory.read(at + _HEAD, size))
        at += _HEAD + -(-size // 16) * 16 + 16
    return items


def test_memory_functions_formats_and_cobs_are_right(run: Boot) -> None:
    items = cobs_items()
    with run("units", weights=packed(items)) as machine, machine.link() as (link, journal):
        end = time.monotonic() + 60
        while not journal.of(wire.Log) and time.monotonic() < end:
            fault = link.receive(0.05)
            assert fault is None, fault  # panics say what is wrong
        assert [log.tail for log in journal.of(wire.Log)] == [b"all good"]
        assert unpacked(machine, len(items)) == [cobs.encode(item) for item in items]
