# SPDX-License-Identifier: Apache-2.0
"""The trace of the last whole step is complete, and the same however its events came in frames."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maxconsole.schema import wire
from maxconsole.telemetry.steps import StepFold

CORES = 4


def event(phase: int, step: int, kernel: int, core: int = 0, start: int = 0) -> bytes:
    return wire.KernelEvent(
        kernel=kernel,
        core=core,
        layer=0,
        phase=phase,
        step=step,
        instructions=1,
        start_cycles=start,
        cycles=1,
        work=1,
        counters=(0,) * wire.COUNTERS,
    ).pack()


def step_of(phase: int, step: int, events: int, begin: int) -> list[bytes]:
    """Events of all cores in the order in which a board sends them; the enclosing one is the last."""
    inner = [event(phase, step, wire.Kernel.HEAD, n % CORES, begin + n) for n in range(events)]
    return [*inner, event(phase, step, wire.Kernel.STEP, 0, begin)]


@given(
    st.lists(st.tuples(st.sampled_from(list(wire.Phase)), st.integers(0, 40)), min_size=1, max_size=12),
    st.integers(1, 15),
    st.integers(0, 30),
)
def test_every_way_to_cut_the_events_into_frames_gives_the_same_traces(
    steps: list[tuple[wire.Phase, int]], per_frame: int, unfinished: int
) -> None:
    sent = [step_of(phase, number, events, 100 * number) for number, (phase, events) in enumerate(steps)]
    stream = [record for one in sent for record in one]
    stream += [event(0, 99, wire.Kernel.HEAD, start=9999)] * unfinished
    fold = StepFold()
    for begin in range(0, len(stream), per_frame):
        fold.add(b"".join(stream[begin : begin + per_frame]))
    traces = fold.traces()
    for phase in {phase for phase, _ in steps}:
        number = max(n for n, (one, _) in enumerate(steps) if one == phase)
        assert (traces[phase].phase, traces[phase].step) == (phase, number)
        assert traces[phase].data == b"".join(sent[number])


def test_requests_that_count_their_steps_from_zero_do_not_mix() -> None:
    fold = StepFold()
    first, second = step_of(0, 0, 3, 0), step_of(0, 0, 5, 100)
    fold.add(b"".join(first))
    fold.add(b"".join(second))
    assert fold.traces()[0].data == b"".join(second)


def test_records_are_sorted_by_core_and_start_and_cannot_be_changed() -> None:
    fold = StepFold()
    fold.add(b"".join(step_of(1, 7, 9, 50)))
    records = fold.traces()[1].records
    assert [(int(one["core"]), int(one["start_cycles"])) for one in records] == sorted(
        (int(one["core"]), int(one["start_cycles"])) for one in records
    )
    assert not records.flags.writeable


def test_of_a_step_without_end_only_the_newest_events_are_kept() -> None:
    fold = StepFold()
    payload = event(0, 0, wire.Kernel.HEAD) * 15
    for _ in range(5000):
        fold.add(payload)
    fold.add(event(0, 0, wire.Kernel.STEP))
    data = fold.traces()[0].data
    assert len(data) <= 1 << 20
    assert data.endswith(event(0, 0, wire.Kernel.STEP))
