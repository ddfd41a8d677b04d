# SPDX-License-Identifier: Apache-2.0
"""What panes show equals sums taken independently over the events that the board sent."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, replace

import pytest
from synthetic import HERTZ, SyntheticBoard

from maxconsole.schema import wire
from maxconsole.telemetry.snapshot import Snapshot
from maxconsole.tui.figures.caches import MissHistory, cache_figures
from maxconsole.tui.figures.choices import Order, PhaseChoice
from maxconsole.tui.figures.kernels import kernel_totals
from maxconsole.tui.figures.rates import RateMeter
from maxconsole.tui.figures.ring import ring_figures

PHASES = {
    PhaseChoice.BOTH: set(wire.Phase),
    PhaseChoice.PREFILL: {wire.Phase.PREFILL},
    PhaseChoice.DECODE: {wire.Phase.DECODE},
}


@pytest.fixture(scope="module")
def board() -> SyntheticBoard:
    made = SyntheticBoard()
    for _ in made.ask(100, 5):
        pass
    return made


@pytest.mark.parametrize("choice", PhaseChoice)
def test_kernel_rows_equal_independent_sums(board: SyntheticBoard, choice: PhaseChoice) -> None:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for event in board.events:
        if event.phase in PHASES[choice]:
            row = sums[wire.Kernel(event.kernel).name.lower()]
            row[0] += 1
            row[1] += event.cycles
            row[2] += event.instructions
    steps = sums.pop("step")
    totals = kernel_totals(board.snapshot(), choice, Order.SHARE)
    shown = {row.name: row for row in totals.rows}
    between = shown.pop("between kernels")
    assert {name: [row.count, row.cycles] for name, row in shown.items()} == {n: r[:2] for n, r in sums.items()}
    assert {name: row.ipc for name, row in shown.items()} == {n: r[2] / r[1] for n, r in sums.items()}
    assert (totals.steps, totals.cycles) == (steps[0], steps[1])
    assert between.cycles == steps[1] - sum(row[1] for row in sums.values())
    assert sum(row.share for row in totals.rows) == pytest.approx(1.0)


def test_macs_are_counted_for_kernels_that_do_any(board: SyntheticBoard) -> None:
    rows = {row.name: row for row in kernel_totals(board.snapshot(), PhaseChoice.PREFILL, Order.SHARE).rows}
    work = sum(event.work for event in board.events if event.kernel == wire.Kernel.LINEAR_UP and event.phase == 0)
    cycles = sum(event.cycles for event in board.events if event.kernel == wire.Kernel.LINEAR_UP and event.phase == 0)
    assert rows["linear_up"].macs_per_cycle == work / cycles
    assert rows["rms_norm"].macs_per_instruction is None


def test_orders_sort_the_same_rows(board: SyntheticBoard) -> None:
    by_share, by_execution, by_ipc = (kernel_totals(board.snapshot(), PhaseChoice.BOTH, o).rows for o in Order)
    assert set(by_share) == set(by_execution) == set(by_ipc)
    assert [row.name for row in by_execution][:2] == ["embed", "rms_norm"]
    assert by_ipc[0].ipc == max(row.ipc or 0 for row in by_ipc)


def test_cache_rates_equal_independent_sums(board: SyntheticBoard) -> None:
    figures = cache_figures(board.snapshot(), PhaseChoice.BOTH)
    inner = [event for event in board.events if event.kernel != wire.Kernel.STEP]
    l1d, l2 = figures.levels
    assert l1d.refills == sum(event.counters[0] for event in inner)
    assert l1d.accesses == sum(event.counters[1] for event in inner)
    assert l2.miss == sum(event.counters[2] for event in inner) / sum(event.counters[3] for event in inner)
    assert sum(row.share for row in figures.kernels) == pytest.approx(1.0)


def test_levels_that_a_board_does_not_count_are_absent() -> None:
    board = SyntheticBoard(counters=(0, 0, 0, 0, 0, 0))
    for _ in board.ask(8, 1):
        pass
    figures = cache_figures(board.snapshot(), PhaseChoice.BOTH)
    assert (figures.levels, figures.memory, figures.shared) == ((), None, "")
    assert all(row.stalled is None for row in kernel_totals(board.snapshot(), PhaseChoice.BOTH, Order.SHARE).rows)


def test_memory_traffic_and_prefetches_equal_independent_sums() -> None:
    board = SyntheticBoard(counters=(0x03, 0x17, 0x2A, 0x60, 0x61, 0x13), cores=4)
    for _ in board.ask(64, 3):
        pass
    figures = cache_figures(board.snapshot(), PhaseChoice.DECODE)
    events = [event for event in board.events if event.phase == wire.Phase.DECODE]
    steps = sum(event.cycles for event in events if event.kernel == wire.Kernel.STEP)
    inner = [event for event in events if event.kernel != wire.Kernel.STEP]
    read, written = (16 * sum(event.counters[slot] for event in inner) for slot in (3, 4))
    assert figures.memory is not None
    assert (figures.memory.read, figures.memory.written) == (read, written)
    assert figures.memory.rate == pytest.approx((read + written) * HERTZ / steps)
    assert {level.name for level in figures.levels} == {"L1D", "L2", "L3"}
    l2 = figures.levels[1]
    assert l2.refills == sum(event.counters[1] for event in inner)
    assert l2.prefetched == read // 64 - l2.refills
    assert l2.mpki == pytest.approx(1000 * l2.refills / sum(event.instructions for event in inner))
    assert figures.shared == "memory"
    assert sum(row.share for row in figures.kernels) == pytest.approx(1.0)


def test_what_never_happened_is_not_counted() -> None:
    """A board that does not have an event says 0, and so does one in fast mode."""
    board = SyntheticBoard(counters=(0x03, 0x36, 0x2D, 0x13, 0xC001, 0x01))
    for _ in board.ask(8, 1):
        pass
    assert [level.name for level in cache_figures(board.snapshot(), PhaseChoice.BOTH).levels] == ["L1D"]


def test_prefetches_are_left_out_where_the_events_disagree() -> None:
    board = SyntheticBoard(counters=(0x60, 0x17, 0, 0, 0, 0))
    for _ in board.ask(8, 1):
        pass
    swapped = wire.Hello(**{**_fields(board.snapshot().hello), "counter_events": (0x17, 0x60, 0, 0, 0, 0)})
    snapshot = replace(board.snapshot(), hello=swapped)
    assert all(level.prefetched is None for level in cache_figures(snapshot, PhaseChoice.BOTH).levels)


def test_the_port_bound_is_a_share_of_the_cycles() -> None:
    board = SyntheticBoard(counters=(0x23, 0x24, 0x10, 0x21, 0x08, 0xC000))
    for _ in board.ask(8, 1):
        pass
    rows = {row.name: row for row in kernel_totals(board.snapshot(), PhaseChoice.BOTH, Order.SHARE).rows}
    own = [event for event in board.events if event.kernel == wire.Kernel.ATTENTION]
    assert rows["attention"].bound == sum(one.counters[5] for one in own) / sum(one.cycles for one in own)
    assert rows["attention"].bound == pytest.approx(0.6, abs=1e-3)


def test_the_cores_add_up_to_all_of_them() -> None:
    board = SyntheticBoard(cores=3)
    for _ in board.ask(8, 2):
        pass
    snapshot = board.snapshot()
    together = {row.name: row for row in kernel_totals(snapshot, PhaseChoice.BOTH, Order.SHARE).rows}
    apart = [kernel_totals(snapshot, PhaseChoice.BOTH, Order.SHARE, core) for core in range(4)]
    shown = [{row.name: row for row in totals.rows} for totals in apart]
    for name in ("linear_up", "attention", "swiglu"):
        assert sum(rows[name].cycles for rows in shown if name in rows) == together[name].cycles
    assert ["swiglu" in rows for rows in shown] == [True, False, False, False]
    assert apart[3].rows == ()
    steps = sum(event.cycles for event in board.events if event.kernel == wire.Kernel.STEP)
    assert [totals.cycles for totals in apart[:3]] == [steps] * 3
    assert shown[1]["between kernels"].ipc is None  # what the step counted is the first core's


def test_the_history_has_a_point_for_every_look_in_which_steps_ended() -> None:
    board, history = SyntheticBoard(), MissHistory()
    history.add(board.snapshot())
    rates = []
    for _ in board.ask(64, 3):
        first = len([event for event in board.events if event.kernel == wire.Kernel.STEP])
        history.add(board.snapshot())
        history.add(board.snapshot())
        step = [event for event in board.events if event.step == first - 1 and event.kernel != wire.Kernel.STEP]
        rates.append(sum(event.counters[0] for event in step) / sum(event.counters[1] for event in step))
    assert list(history.points["L1D"]) == rates


def test_a_board_that_starts_anew_leaves_a_gap_in_the_history() -> None:
    history = MissHistory()
    for board in (SyntheticBoard(), SyntheticBoard()):
        history.add(board.snapshot())
        for _ in board.ask(4, 1):
            history.add(board.snapshot())
    assert [point is None for point in history.points["L1D"]] == [False, False, True, False, False]


def test_ring_figures_follow_the_board(board: SyntheticBoard) -> None:
    state = board.snapshot().kv
    assert state is not None
    figures = ring_figures(state)
    assert figures is not None
    assert (figures.ring.visible, figures.occupied) == (105, 105)
    assert figures.ring.slot(figures.ring.oldest) == state.start
    assert figures.ring.slot(state.length) == state.end
    assert figures.map_hits == pytest.approx(0.98, abs=1e-3)


def test_token_rates_are_on_the_board_s_own_clock(board: SyntheticBoard) -> None:
    rates = RateMeter().add(board.snapshot(), 0.0)
    done = board.snapshot().done
    assert done is not None
    assert rates.prefill_tokens_per_s == 100 * HERTZ / done.prefill_cycles
    assert rates.decode_tokens_per_s == pytest.approx(5 * HERTZ / done.decode_cycles)


def test_prefill_counts_the_tokens_that_were_not_cached() -> None:
    board = SyntheticBoard()
    for _ in board.ask(64, 1):
        pass
    done = board.snapshot().done
    assert done is not None
    board.telemetry.accept([replace(done, cached_tokens=1000)], board.snapshot().link)
    assert RateMeter().add(board.snapshot(), 0.0).prefill_tokens_per_s == 64 * HERTZ / done.prefill_cycles


def test_the_link_s_rate_is_a_mean_over_two_seconds(board: SyntheticBoard) -> None:
    meter, snapshot = RateMeter(), board.snapshot()
    meter.add(_with_bytes(snapshot, 0), 0.0)
    assert meter.add(_with_bytes(snapshot, 1000), 1.0).link_bytes_per_s == 1000
    assert meter.add(_with_bytes(snapshot, 1000), 2.5).link_bytes_per_s == 400
    assert meter.add(_with_bytes(snapshot, 1000), 9.0).link_bytes_per_s == 0


def test_a_replay_that_goes_back_begins_its_rates_anew(board: SyntheticBoard) -> None:
    meter, snapshot = RateMeter(), board.snapshot()
    meter.add(_with_bytes(snapshot, 5000), 0.0)
    assert meter.add(_with_bytes(snapshot, 100), 1.0).link_bytes_per_s is None
    assert meter.add(_with_bytes(snapshot, 200), 2.0).link_bytes_per_s == 100


def _with_bytes(snapshot: Snapshot, count: int) -> Snapshot:
    return replace(snapshot, link=replace(snapshot.link, bytes=count))


def _fields(hello: wire.Hello | None) -> dict[str, object]:
    assert hello is not None
    return {field.name: getattr(hello, field.name) for field in fields(hello)}
