# SPDX-License-Identifier: Apache-2.0
"""The NPU in the timeline and among the kernels: its lane covers the step, and every gap has its reason."""

from __future__ import annotations

import numpy as np
import pytest
import step_events
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.link.frames import Counters, Frame
from maxconsole.schema import wire
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import Snapshot
from maxconsole.tui.drawing.ink import plain
from maxconsole.tui.drawing.lanes import NPU_BUS, NPU_IDLE, NPU_SOFTMAX, NPU_STARTING, lane
from maxconsole.tui.figures.choices import Order, PhaseChoice
from maxconsole.tui.figures.kernels import kernel_totals
from maxconsole.tui.figures.timeline import Timeline, timeline
from maxconsole.tui.panes.kernels import KernelPane

BEGIN, CYCLES = 1000, 2000
K = wire.Kernel


def event(kernel: int, start: int, cycles: int, core: int = 0) -> bytes:
    return step_events.event(kernel, BEGIN + start, cycles, core, phase=wire.Phase.PREFILL, work=8).pack()


def job(submitted: int, begin: int, end: int, mac_cycles: int, kernel: int = K.LINEAR_Q) -> bytes:
    return wire.NpuEvent(
        kernel=kernel,
        phase=wire.Phase.PREFILL,
        layer=3,
        step=0,
        submitted=BEGIN + submitted,
        begin=BEGIN + begin,
        end=BEGIN + end,
        macs=100 * mac_cycles,
        bytes=4096,
        mac_cycles=mac_cycles,
    ).pack()


def folded(jobs: list[bytes], events: list[bytes]) -> Snapshot:
    telemetry = Telemetry()
    step = event(K.STEP, 0, CYCLES)
    frames = [
        Frame(wire.MessageType.NPU_EVENTS, 0, 0, b"".join(jobs)),
        Frame(wire.MessageType.KERNELS, 0, 1, b"".join([*events, step])),
    ]
    telemetry.accept(frames, Counters())
    return telemetry.snapshot()


def step_of(jobs: list[bytes], events: list[bytes]) -> Timeline:
    made = timeline(folded(jobs, events).steps[wire.Phase.PREFILL])
    assert made is not None
    return made


@given(st.lists(st.tuples(*[st.integers(0, 90)] * 4), min_size=1, max_size=15))
def test_pieces_of_the_lane_cover_the_step_once(parts: list[tuple[int, int, int, int]]) -> None:
    """Idle, starting, computing and waiting for memory of one job after the other."""
    jobs, at = [], 0
    for idle, starting, computing, memory in parts:
        begin = at + idle + starting
        jobs.append(job(at + idle, begin, begin + computing + memory, computing))
        at = begin + computing + memory
    made = step_of(jobs, [event(K.ATTENTION, 0, CYCLES)])
    assert made.npu is not None
    end = max(CYCLES, at)
    assert np.array_equal(made.npu.begin[1:], made.npu.end[:-1])
    assert (made.npu.begin[0], made.npu.end[-1]) == (0, end)
    spent = {kind: float(cycles.sum()) for kind, cycles in made.npu.spent(np.array([0.0, end])).items()}
    assert spent.get(NPU_STARTING, 0) == sum(part[1] for part in parts)
    assert spent.get("linear_q", 0) == sum(part[2] for part in parts)
    assert spent.get(NPU_BUS, 0) == sum(part[3] for part in parts)
    assert spent.get(NPU_IDLE, 0) == end - sum(sum(part[1:]) for part in parts)


def test_a_gap_says_what_the_cores_were_at() -> None:
    events = [event(K.SWIGLU, 0, 400), event(K.ATTENTION, 400, 1600), event(K.NPU_WAIT, 400, 1600, core=1)]
    made = step_of([job(300, 310, 500, 190), job(900, 950, 1200, 100)], events)
    assert made.npu is not None
    first, second = made.npu.moment(NPU_IDLE, 0, 10), made.npu.moment(NPU_IDLE, 600, 610)
    assert first is not None
    assert second is not None
    assert (first.cycles, first.about, first.figure) == (300, "cores in", "swiglu")
    assert (second.cycles, second.figure) == (400, "attention")
    starting = made.npu.moment(NPU_STARTING, 900, 950)
    assert starting is not None
    assert starting.cycles == 50
    whole = made.npu.moment("linear_q", 960, 970)
    assert whole is not None
    assert (whole.cycles, whole.layer, whole.figure) == (250, 3, "60.0 %, 4 KiB")


def test_a_gap_before_a_job_of_attention_is_the_softmaxs() -> None:
    jobs = [job(300, 310, 500, 190), job(900, 950, 1200, 100, K.ATTENTION)]
    made = step_of(jobs, [event(K.ATTENTION, 0, CYCLES)])
    assert made.npu is not None
    spent = {kind: float(cycles.sum()) for kind, cycles in made.npu.spent(np.array([0.0, CYCLES])).items()}
    assert spent[NPU_SOFTMAX] == 400
    assert spent[NPU_IDLE] == 300 + CYCLES - 1200


def test_overlap_is_of_the_less_busy_one() -> None:
    """The NPU works 500 of 2000 cycles, in 100 of which one of two cores waits for it."""
    events = [
        event(K.ATTENTION, 0, 2000),
        event(K.SWIGLU, 0, 400, 1),
        event(K.NPU_WAIT, 400, 100, 1),
        event(K.HEAD, 500, 1500, 1),
    ]
    made = step_of([job(0, 0, 500, 500)], events)
    assert made.overlap is not None
    assert made.overlap.use == pytest.approx(500 / 2000)
    assert made.overlap.overlap == pytest.approx((500 + 400) / 2 / 500)


def test_a_step_without_jobs_has_no_such_lane() -> None:
    made = step_of([], [event(K.ATTENTION, 0, 2000)])
    assert made.npu is None
    assert made.overlap is None
    assert [one.title for one in made.lanes] == ["core 0"]


def test_states_of_the_npu_are_told_apart_without_colors() -> None:
    runs = {
        plain(lane([name] * 3, labels=False))
        for name in (NPU_IDLE, NPU_SOFTMAX, NPU_STARTING, NPU_BUS, "npu_wait", "wait", "linear_q")
    }
    assert len(runs) == 7


def test_jobs_stand_below_the_kernels_and_are_no_part_of_their_sums() -> None:
    jobs = [job(0, 0, 500, 400), job(500, 500, 600, 100), job(600, 600, 1600, 900, K.LINEAR_UP)]
    snapshot = folded(jobs, [event(K.ATTENTION, 0, 2000)])
    totals = kernel_totals(snapshot, PhaseChoice.BOTH, Order.SHARE)
    assert totals.cycles == 2000
    assert [(row.name, row.jobs, row.cycles) for row in totals.npu] == [("linear_up", 1, 1000), ("linear_q", 2, 600)]
    assert [row.share for row in totals.npu] == [0.5, 0.3]
    assert totals.npu[0].macs_per_cycle == 90
    assert kernel_totals(snapshot, PhaseChoice.DECODE, Order.SHARE).npu == ()
    assert kernel_totals(snapshot, PhaseChoice.BOTH, Order.SHARE, 0).npu == ()
    pane = KernelPane()
    pane.digest(snapshot)
    text = [plain(row) for row in pane.body(snapshot, 78, 10)]
    assert text[2].startswith(" NPU linear_up")
    assert "50.0 %" in text[2]
