# SPDX-License-Identifier: Apache-2.0
"""Sums of kernel events: exact, independent of how they are cut, and corrected by the board's own totals."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.link import messages
from maxconsole.link.frames import Decoder, encode_frame
from maxconsole.schema import wire
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.kernels import KernelFold, KernelSums, empty_table

BATCH = 15

events = st.builds(
    wire.KernelEvent,
    kernel=st.integers(0, len(wire.Kernel) - 1),
    core=st.integers(0, wire.CORES_MAX - 1),
    layer=st.integers(0, 65535),
    phase=st.integers(0, len(wire.Phase) - 1),
    step=st.integers(0, 2**32 - 1),
    instructions=st.integers(0, 2**32 - 1),
    start_cycles=st.integers(0, 2**64 - 1),
    cycles=st.integers(0, 2**60),
    work=st.integers(0, 2**60),
    counters=st.tuples(*[st.integers(0, 2**32 - 1)] * 6),
)


def event(kernel: int = 1, core: int = 0, phase: int = 0, **values: int) -> wire.KernelEvent:
    numbers = {"layer": 0, "step": 0, "instructions": 0, "start_cycles": 0, "cycles": 0, "work": 0, **values}
    return wire.KernelEvent(kernel=kernel, core=core, phase=phase, counters=(1, 2, 3, 4, 5, 6), **numbers)


def total(kernel: int, count: int, cycles: int, phase: int = 0) -> bytes:
    return wire.KernelTotal(
        kernel=kernel, core=0, phase=phase, count=count, cycles=cycles, instructions=0, work=0, counters=()
    ).pack()


def one_by_one(listed: Iterable[wire.KernelEvent]) -> dict[tuple[int, int, int], KernelSums]:
    """The sums, added up in plain Python."""
    sums: dict[tuple[int, int, int], KernelSums] = {}
    for e in listed:
        key = (e.phase, e.core, e.kernel)
        old = sums.get(key, KernelSums(0, 0, 0, 0, (0,) * 6))
        sums[key] = KernelSums(
            old.count + 1,
            (old.cycles + e.cycles) % 2**64,
            old.instructions + e.instructions,
            (old.work + e.work) % 2**64,
            tuple(a + b for a, b in zip(old.counters, e.counters, strict=True)),
        )
    return sums


@given(st.lists(events, max_size=60), st.integers(1, 20))
def test_sums_equal_plain_addition_however_the_events_are_batched(listed: list[wire.KernelEvent], size: int) -> None:
    fold = KernelFold()
    for start in range(0, len(listed), size):
        fold.add_events(b"".join(e.pack() for e in listed[start : start + size]))
        if start % 3 == 0:
            fold.table()
    table = fold.table()
    expected = one_by_one(listed)
    assert set(table.cells()) == set(expected)
    for (phase, core, kernel), sums in expected.items():
        assert table.sums(phase, kernel, core) == sums
    assert fold.events == len(listed)


def test_sums_over_cores_are_the_sum_of_the_cores() -> None:
    fold = KernelFold()
    fold.add_events(event(core=0, cycles=5).pack() + event(core=3, cycles=7).pack())
    assert fold.table().sums(0, 1) == KernelSums(2, 12, 0, 0, (2, 4, 6, 8, 10, 12))


def test_a_table_is_a_snapshot() -> None:
    fold = KernelFold()
    fold.add_events(event(cycles=5).pack())
    before = fold.table()
    fold.add_events(event(cycles=6).pack())
    assert before.sums(0, 1).cycles == 5
    assert (fold.table() - before).sums(0, 1) == KernelSums(1, 6, 0, 0, (1, 2, 3, 4, 5, 6))
    assert not before.values.flags.writeable


def test_totals_replace_what_events_said_because_events_may_be_dropped() -> None:
    fold = KernelFold()
    fold.add_events(event(cycles=5).pack())
    fold.add_totals(total(1, count=3, cycles=15) + total(2, count=1, cycles=100))
    assert fold.table().sums(0, 1) == KernelSums(3, 15, 0, 0, (0,) * 6)
    fold.add_events(event(cycles=6).pack())
    assert (fold.table().sums(0, 1).cycles, fold.table().sums(0, 2).cycles) == (21, 100)
    fold.add_totals(total(1, count=4, cycles=21))
    assert (fold.table().sums(0, 1).cycles, fold.table().sums(0, 2).cycles) == (21, 100)


def test_records_outside_the_table_are_counted_and_left_out() -> None:
    fold = KernelFold()
    fold.add_events(event(kernel=200).pack() + event(core=4).pack() + event(phase=2).pack())
    assert fold.table() == empty_table()
    fold.add_events(event(kernel=255).pack() + event(cycles=1).pack())
    fold.add_totals(total(99, count=1, cycles=1))
    assert fold.table().sums(0, 1).cycles == 1
    assert (fold.events, fold.invalid_records) == (5, 5)


@given(st.binary(max_size=64 * 6).map(lambda data: data[: len(data) // 64 * 64]))
def test_random_records_never_raise(payload: bytes) -> None:
    fold = KernelFold()
    fold.add_events(payload)
    fold.table()


def stream_of(count: int) -> bytes:
    """`count` random kernel events as the bytes of a link, in full batches."""
    random = np.random.default_rng(1)
    records = np.zeros(count, wire.KernelEvent.DTYPE)
    for name, high in (("kernel", 18), ("core", 4), ("phase", 2), ("instructions", 2**32)):
        records[name] = random.integers(0, high, count)
    for name in ("cycles", "work"):
        records[name] = random.integers(0, 2**40, count)
    records["counters"] = random.integers(0, 2**32, (count, wire.COUNTERS))
    starts = range(0, count, BATCH)
    return b"".join(
        encode_frame(wire.MessageType.KERNELS, i & 0xFFFF, records[at : at + BATCH].tobytes())
        for i, at in enumerate(starts)
    )


def fold_stream(stream: bytes, chunk: int) -> Telemetry:
    decoder, telemetry = Decoder(), Telemetry()
    for start in range(0, len(stream), chunk):
        items = decoder.feed(stream[start : start + chunk])
        telemetry.accept(messages.interpret(items, decoder.counters), decoder.counters)
    return telemetry


def independent_sums(stream: bytes) -> Counter[tuple[int, int, int, str]]:
    """Cycles and counts straight from the bytes, with a COBS decoder and offsets of its own."""
    sums: Counter[tuple[int, int, int, str]] = Counter()
    for segment in filter(None, stream.split(b"\0")):
        body, at = bytearray(), 0
        while at < len(segment):
            code = segment[at]
            body += segment[at + 1 : at + code] + (b"\0" if code < 0xFF else b"")
            at += code
        payload = body[4:-5] if segment[-1:] and body[-1:] == b"\0" else body[4:-4]
        for record in range(0, len(payload), 64):
            kernel, core, phase = payload[record], payload[record + 1], payload[record + 4]
            sums[phase, core, kernel, "cycles"] += struct.unpack_from("<Q", payload, record + 24)[0]
            sums[phase, core, kernel, "count"] += 1
    return sums


def test_a_stream_folds_to_what_an_independent_reading_of_its_bytes_gives() -> None:
    stream = stream_of(5000)
    snapshot = fold_stream(stream, 777).snapshot()
    expected = independent_sums(stream)
    assert sum(value for key, value in expected.items() if key[3] == "count") == 5000 == snapshot.events
    for phase, core, kernel in snapshot.kernels.cells():
        sums = snapshot.kernels.sums(phase, kernel, core)
        assert sums.cycles == expected[phase, core, kernel, "cycles"]
        assert sums.count == expected[phase, core, kernel, "count"]
    assert snapshot.link.lost_frames == snapshot.link.bad_frames == 0
