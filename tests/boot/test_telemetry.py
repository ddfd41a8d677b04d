# SPDX-License-Identifier: Apache-2.0
"""Every event is counted once, and those that the console could not take are counted as dropped."""

from __future__ import annotations

import struct
import time
from collections import Counter

import pytest
from boot_machine import Boot, BuildProgram, Journal, Machine

from maxconsole.boards import Board
from maxconsole.firmware.elf import read_elf
from maxconsole.schema import wire

pytestmark = pytest.mark.system

_INST_RETIRED = 0x08


def finished(machine: Machine, wait: float = 0.0) -> Journal:
    """Everything that programs/spans.c has sent, read only after `wait` seconds."""
    transport = machine.transport()
    time.sleep(wait)
    with machine.link(transport) as (link, journal):
        assert isinstance(link.receive(20), wire.Done)
        while not journal.of(wire.Status):
            assert link.receive(0.05) is None
    return journal


def kernel_events(journal: Journal) -> list[wire.KernelEvent]:
    size = wire.KernelEvent.SIZE
    return [wire.KernelEvent.unpack(one) for one in journal.records(wire.MessageType.KERNELS, size)]


def last_totals(journal: Journal) -> dict[int, wire.KernelTotal]:
    size = wire.KernelTotal.SIZE
    totals = map(wire.KernelTotal.unpack, journal.records(wire.MessageType.TOTALS, size))
    return {total.kernel: total for total in totals}


def test_totals_and_events_agree_with_what_was_done(run: Boot) -> None:
    steps, layers = 20, 30
    with run("spans", weights=struct.pack("<2I", steps, layers)) as machine:
        journal = finished(machine)
    events = kernel_events(journal)
    assert Counter(event.kernel for event in events) == {
        wire.Kernel.STEP: steps,
        wire.Kernel.ATTENTION: steps * layers,
        wire.Kernel.LINEAR_Q: steps * layers,
        wire.Kernel.DEQUANT: steps * layers,
    }
    assert {event.step for event in events} == set(range(steps))
    assert {event.layer for event in events if event.kernel == wire.Kernel.ATTENTION} == set(range(layers))
    assert all(event.phase == wire.Phase.DECODE and event.core == 0 for event in events)
    totals = last_totals(journal)
    for kernel, work in ((wire.Kernel.ATTENTION, 7), (wire.Kernel.LINEAR_Q, 5), (wire.Kernel.DEQUANT, 3)):
        assert totals[kernel].count == steps * layers
        assert totals[kernel].work == steps * layers * work
    (status,) = journal.of(wire.Status)
    assert status.dropped_events == status.dropped_batches == 0
    assert status.telemetry_events == len(events)


def test_drops_are_counted_and_totals_stay_complete_when_nobody_reads(run: Boot, board: Board) -> None:
    steps, layers = 100, 60
    with run("spans", weights=struct.pack("<2I", steps, layers)) as machine:
        journal = finished(machine, wait=2.0)
    events, made = kernel_events(journal), steps * (3 * layers + 1)
    (status,) = journal.of(wire.Status)
    assert made * wire.KernelEvent.SIZE > 2 * board.link.rtt_up_bytes
    assert status.dropped_events > made // 2
    assert len(events) + status.dropped_events == made == status.telemetry_events
    assert last_totals(journal)[wire.Kernel.ATTENTION].count == steps * layers


def test_lost_frames_of_the_link_are_the_dropped_batches(run: Boot) -> None:
    with run("spans", weights=struct.pack("<2I", 100, 60)) as machine:
        transport = machine.transport()
        time.sleep(2.0)
        with machine.link(transport) as (link, journal):
            assert isinstance(link.receive(20), wire.Done)
            while not journal.of(wire.Status):
                link.receive(0.05)
            # Periodic totals are dropped as well: they are cumulative, and the ones at the end are not.
            assert link.counters.lost_frames >= journal.of(wire.Status)[0].dropped_batches > 0
            assert link.counters.bad_frames == 0


def test_without_telemetry_the_same_program_sends_no_event(build_program: BuildProgram) -> None:
    symbols = read_elf(build_program("spans", telemetry=False)).symbols
    assert "frame_send" in symbols
    assert not {"span_begin", "span_end", "telemetry_flush", "pmu_read"} & set(symbols)


def test_counters_of_the_core_itself_are_read_exactly(run: Boot, board: Board) -> None:
    retired = [event.number for event in board.pmu.events].index(_INST_RETIRED)
    with run("spans", weights=struct.pack("<2I", 5, 10), silicon=True, count_instructions=True) as machine:
        journal = finished(machine)
    events = kernel_events(journal)
    assert all(event.cycles == event.instructions == event.counters[retired] > 0 for event in events)
    steps = [event for event in events if event.kernel == wire.Kernel.STEP]
    for step in steps:
        inside = [event for event in events if event.step == step.step and event is not step]
        assert sum(event.cycles for event in inside) < step.cycles
        assert all(event.start_cycles > step.start_cycles for event in inside)
    (status,) = journal.of(wire.Status)
    assert 0 < status.telemetry_cycles <= sum(step.cycles for step in steps) * 1.1
    for kernel, total in last_totals(journal).items():
        assert total.cycles == sum(event.cycles for event in events if event.kernel == kernel)
