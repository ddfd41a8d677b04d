# SPDX-License-Identifier: Apache-2.0
"""The engine's image comes up, says who it is, answers, and sleeps."""

from __future__ import annotations

import time
import zlib

import pytest
from boot_machine import Boot, BuildProgram

from maxconsole.boards import Board
from maxconsole.firmware.elf import read_elf
from maxconsole.link.client import RefusedError
from maxconsole.schema import wire

pytestmark = pytest.mark.system


@pytest.mark.parametrize("el2", [False, True], ids=["at EL1", "at EL2"])
def test_it_says_hello_and_answers_a_ping(run: Boot, board: Board, el2: bool) -> None:
    with run("engine", cores=board.cpu.cores, el2=el2) as machine, machine.link() as (link, _):
        hello = link.receive(10)
        assert isinstance(hello, wire.Hello)
        assert hello.protocol == wire.PROTOCOL_VERSION
        assert hello.schema_hash == wire.SCHEMA_HASH
        assert hello.board == board.name
        assert hello.flags == wire.HelloFlag.MODELLED  # and no model is loaded
        assert hello.cores == board.cpu.cores
        assert hello.counters == 0  # nothing counts without the plug-in
        assert hello.counter_events == tuple(event.number for event in board.pmu.events)
        assert link.request(wire.Ping(nonce=0xFEEDF00D)).value == 0xFEEDF00D


def test_pools_are_where_the_link_script_put_them(run: Boot, board: Board) -> None:
    with run("engine") as machine, machine.link() as (link, journal):
        link.request(wire.Query(item=wire.QueryItem.POOLS))
        (pools, *_) = journal.of(wire.Pools)
        *linked, npu = pools.tail
        memory = board.npu_memory
        assert memory is not None
        assert (npu.base, npu.bytes) == (memory.base, memory.size_bytes)
        for pool in linked:
            assert pool.base == machine.symbols[f"__{pool.name.lower()}_start"]
            assert pool.base + pool.bytes == machine.symbols[f"__{pool.name.lower()}_end"]


def test_hello_carries_the_build_id_of_the_image(run: Boot, build_program: BuildProgram) -> None:
    with run("engine") as machine, machine.link() as (link, _):
        hello = link.receive(10)
    assert isinstance(hello, wire.Hello)
    assert hello.build_id.hex() == read_elf(build_program("engine")).build_id


def test_a_checksum_is_that_of_the_memory(run: Boot) -> None:
    with run("engine", weights=bytes(range(256)) * 40) as machine, machine.link() as (link, _):
        base = machine.symbols["__weight_pool_start"]
        for start, size in ((0, 0), (0, 10240), (3, 1001), (7, 1)):
            reply = link.request(wire.Checksum(address=base + start, bytes=size))
            assert reply.value == zlib.crc32(machine.memory.read(base + start, size))


@pytest.mark.parametrize("place", [(0, 4), (0x0900_0000, 4), (0x8400_0000, 1 << 40), ((1 << 64) - 8, 16)])
def test_a_checksum_of_what_is_not_memory_is_refused(run: Boot, place: tuple[int, int]) -> None:
    with run("engine") as machine, machine.link() as (link, _):
        with pytest.raises(RefusedError) as refusal:
            link.request(wire.Checksum(address=place[0], bytes=place[1]))
        assert refusal.value.status == wire.ReplyStatus.OUT_OF_RANGE


@pytest.mark.parametrize("present", [1, 3])
def test_cores_that_cannot_be_started_are_reported_and_done_without(run: Boot, present: int) -> None:
    with run("engine", cores=present) as machine, machine.link() as (link, journal):
        hello = link.receive(10)
        assert isinstance(hello, wire.Hello)
        assert hello.cores == present
        assert [log.tail.decode() for log in journal.of(wire.Log)][:2] == [
            f"core {present} cannot be started: PSCI error -2",  # INVALID_PARAMETERS
            f"{present} of 4 cores run",
        ]


def test_an_idle_board_costs_its_host_little(run: Boot, board: Board) -> None:
    with run("engine", cores=board.cpu.cores) as machine, machine.link() as (link, _):
        link.request(wire.Ping(nonce=1))
        time.sleep(0.5)

        def share(seconds: float = 2) -> float:
            before = machine.cpu_seconds()
            time.sleep(seconds)
            return (machine.cpu_seconds() - before) / seconds

        assert min(share() for _ in range(3)) < 0.03  # the least: a busy host makes its timers cost more


def test_other_cores_park_at_the_entry_and_touch_nothing(run: Boot, board: Board) -> None:
    with run("cores", cores=board.cpu.cores) as machine, machine.link() as (_, journal):
        end = time.monotonic() + 10
        while not journal.of(wire.Log) and time.monotonic() < end:
            time.sleep(0.02)
        assert [log.tail for log in journal.of(wire.Log)] == [f"{board.cpu.cores} cores are on".encode()]
        before = machine.cpu_seconds()
        time.sleep(1)
        assert machine.cpu_seconds() - before < 0.05
