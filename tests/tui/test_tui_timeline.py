# SPDX-License-Identifier: Apache-2.0
"""The timeline: lanes never overlap, cells have what the events say, and keys move through the step."""

from __future__ import annotations

import numpy as np
import pytest
from desk import Desk
from driving import ask, drive, screen_text, start
from hypothesis import given
from hypothesis import strategies as st
from step_events import event
from synthetic import SyntheticBoard
from textual.pilot import Pilot

from maxconsole.schema import wire
from maxconsole.telemetry.steps import StepTrace
from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.drawing.axis import COUNTS, SECONDS, axis
from maxconsole.tui.drawing.ink import plain, width
from maxconsole.tui.drawing.lanes import WAIT, lane, legend
from maxconsole.tui.figures.lane import kernel_name
from maxconsole.tui.figures.timeline import Timeline, lay_out, timeline
from maxconsole.tui.figures.view import View
from maxconsole.tui.panes.timeline import TimelinePane

EVENTS = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 80), st.integers(1, 20)), max_size=40)


def lanes_of(events: list[wire.KernelEvent], *, begin: int = 0, cycles: int = 1000) -> Timeline:
    step = event(wire.Kernel.STEP, begin, cycles)
    made = timeline(StepTrace(wire.Phase.DECODE, 0, b"".join(one.pack() for one in (*events, step))))
    assert made is not None
    return made


@given(EVENTS)
def test_events_of_a_lane_never_overlap_and_keep_their_cycles(events: list[tuple[int, int, int]]) -> None:
    starts, cycles = (np.array([one[at] for one in sorted(events)], np.int64) for at in (0, 1))
    begin, end = lay_out(starts, cycles)
    assert (begin >= starts).all()
    assert (end - begin == cycles).all()
    assert (begin[1:] >= end[:-1]).all()


@given(EVENTS, st.integers(1, 120))
def test_cells_of_the_whole_have_as_many_cycles_as_the_records(events: list[tuple[int, int, int]], cells: int) -> None:
    made = lanes_of([event(kernel, start, cycles) for start, cycles, kernel in events])
    for one in made.lanes:
        spent = one.spent(np.linspace(0, max(1000, int(one.end[-1])), cells + 1))
        for kernel in range(21):
            recorded = sum(cycles for _, cycles, number in events if number == kernel)
            assert spent.get(kernel_name(kernel), np.zeros(1)).sum() == pytest.approx(recorded, abs=1e-6)


def test_pieces_that_alternate_are_laid_one_after_the_other() -> None:
    """Two events of 30 and 50 cycles, in pieces from 100 to 180."""
    made = lanes_of([event(wire.Kernel.DEQUANT, 100, 30), event(wire.Kernel.LINEAR_Q, 110, 50)])
    assert made.lanes[0].begin.tolist() == [100, 130]
    assert made.lanes[0].end.tolist() == [130, 180]


def test_a_kernel_has_as_many_cells_from_afar_as_its_share() -> None:
    events = [event(kernel, at + more, 5) for at in range(0, 1000, 10) for kernel, more in ((5, 0), (13, 5))]
    made = lanes_of(events)
    names = made.lanes[0].names(np.linspace(0, 1000, 41))
    assert names.count("linear_q") == names.count("attention") == 20


def test_a_cell_shows_only_what_is_in_it() -> None:
    made = lanes_of([event(5, 0, 400), event(13, 600, 400)])
    assert made.lanes[0].names(np.linspace(0, 1000, 11)) == ["linear_q"] * 4 + [""] * 2 + ["attention"] * 4
    moment = made.lanes[0].moment("attention", 600, 700)
    assert moment is not None
    assert (moment.layer, moment.cycles, moment.figure) == (3, 400, "2.00")
    assert made.lanes[0].moment("attention", 0, 100) is None


def test_lanes_count_from_the_start_of_the_step_and_waiting_is_not_work() -> None:
    board = SyntheticBoard(cores=4)
    for _ in board.ask(8, 2):
        pass
    made = timeline(board.snapshot().steps[wire.Phase.DECODE])
    assert made is not None
    last = [one for one in board.events if one.step == made.step]
    assert made.cycles == next(one.cycles for one in last if one.kernel == wire.Kernel.STEP)
    assert [one.title for one in made.lanes] == [f"core {core}" for core in range(4)]
    for core, one in enumerate(made.lanes):
        own = [e for e in last if e.core == core and e.kernel not in {wire.Kernel.STEP, _wait()}]
        assert one.busy == pytest.approx(sum(e.cycles for e in own) / made.cycles)
        assert one.begin[0] >= 0
        assert one.end[-1] <= made.cycles


def _wait() -> int:
    return next((kernel for kernel in wire.Kernel if kernel.name.lower() == WAIT), -1)


@given(st.lists(st.sampled_from(["linear_up", "attention", "embed", WAIT, "19", ""]), max_size=100), st.booleans())
def test_a_lane_takes_a_cell_for_each_name(names: list[str], labels: bool) -> None:
    assert width(lane(names, labels=labels)) == len(names)
    assert width(legend(names)) <= 80


def test_kernels_are_told_apart_without_colors() -> None:
    runs = {plain(lane([name] * 3, labels=False)) for name in ("linear_up", "linear_q", "attention", "dequant", WAIT)}
    assert len(runs) == 5
    assert plain(lane(["linear_gate"] * 9, labels=True)) == "█gate███▊"
    assert plain(lane(["linear_up", "linear_gate"] * 2, labels=True)) == "████"


@given(st.integers(0, 18), st.integers(60, 200), st.integers(1, 10**11))
def test_an_axis_fits_and_ascends(zoom: int, cells: int, whole: int) -> None:
    text = plain(axis(0.0, whole * 0.5**zoom, whole, cells, COUNTS))
    numbers = [float(part.split()[0]) for part in text.split("╷")[1:]]
    assert len(text) <= cells
    assert numbers == sorted(set(numbers))
    assert numbers


def test_an_axis_has_the_unit_of_the_whole() -> None:
    assert plain(axis(0, 2.4e6, 2.4e6, 60, COUNTS)).split() == ["╷0", "M", "╷1", "M", "╷2", "M"]
    assert "ms" in plain(axis(0, 2.4e4, 2.4e7, 60, SECONDS, per=2.4e9))


@given(st.lists(st.sampled_from(["in", "out", "right", "left", "click"]), max_size=40), st.floats(0, 1))
def test_the_view_stays_inside_and_keeps_its_cursor_in_sight(keys: list[str], part: float) -> None:
    view = View()
    for key in keys:
        if key == "click":
            view = view.pointed(part)
        else:
            view = (
                view.zoomed({"in": 1, "out": -1}[key])
                if key in {"in", "out"}
                else view.moved(0.3 if key == "right" else -0.3)
            )
        assert 0 <= view.begin <= view.begin + view.span <= 1 + 1e-9
        assert view.begin - 1e-9 <= view.at <= view.begin + view.span + 1e-9
        assert 0 <= view.cell(80) < 80


def test_keys_zoom_pan_and_choose_core_and_phase() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await ask(app, pilot, "go")
        pane = app.main.query_one(TimelinePane)
        await pilot.press("f6", "5")
        assert pane.has_focus
        assert "decode step" in screen_text(app)
        await pilot.press("plus", "plus", "plus", "shift+right", "shift+right", "shift+right")
        assert pane.view.zoom == 3
        assert pane.view.begin > 0
        assert "8x" in screen_text(app)
        at = pane.view.at
        await pilot.press("right", "right", "left")
        assert pane.view.at > at
        await pilot.press("minus", "home")
        assert pane.view == View()
        await pilot.press("p")
        assert "prefill batch" in screen_text(app)
        await pilot.click(TimelinePane, offset=(40, 3))
        assert pane.view.at > 0

    drive(Desk(), steps)


def test_a_board_without_single_events_says_why_there_is_nothing() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await start(app, pilot)
        await pilot.press("f6", "5")
        assert "nothing has run yet" in screen_text(app)
        total = wire.KernelTotal(
            kernel=1, core=0, phase=0, count=1, cycles=5, instructions=5, work=1, counters=(0,) * wire.COUNTERS
        )
        desk.sessions[0].board.send_totals(total)
        await pilot.pause(0.3)
        assert "a UART has no room" in screen_text(app)

    drive(desk, steps)
