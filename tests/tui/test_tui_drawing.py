# SPDX-License-Identifier: Apache-2.0
"""Figures line up, bars and lines stay in their cells, and the KV band shows what the ring really holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from maxconsole.tui.drawing import units
from maxconsole.tui.drawing.band import Ring, Slot, band, cell_of, markers
from maxconsole.tui.drawing.bars import bar
from maxconsole.tui.drawing.braille import history, nice_top
from maxconsole.tui.drawing.ink import Ink, Span, fit, line, plain, spread, width
from maxconsole.tui.drawing.wrap import wrap

TEXT = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp", "Mn", "Me", "Cf")), max_size=200)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "   0  "),
        (999, " 999  "),
        (1000, "1.00 k"),
        (9994, "9.99 k"),
        (9996, "10.0 k"),
        (999_499, " 999 k"),
        (999_600, "1.00 M"),
        (12_345_678_901, "12.3 G"),
        (None, "   -  "),
    ],
)
def test_si_has_three_digits_and_a_prefix(value: int | None, text: str) -> None:
    assert units.si(value) == text


@given(st.integers(0, 10**20))
def test_si_always_takes_six_cells(value: int) -> None:
    assert len(units.si(value)) == 6


@given(st.floats(0, 1))
def test_percent_always_takes_six_cells_and_never_hides_what_is_not_zero(share: float) -> None:
    text = units.percent(share)
    assert len(text) == 6
    assert (text.strip() == "0 %") == (share == 0)


@given(st.integers(0, 1 << 50))
def test_binary_sizes_take_eight_cells(value: int) -> None:
    assert len(units.binary(value)) == 8


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.9, "0:59"), (754, "12:34"), (3723, "1:02:03"), (None, "-:--")]
)
def test_clock_reads_like_a_clock(seconds: float | None, text: str) -> None:
    assert units.clock(seconds) == text


@pytest.mark.parametrize(
    ("cycles", "text"), [(24, "10.0 ns"), (2_400, "1.00 µs"), (2_400_000, "1.00 ms"), (24_000_000_000, "10.0 s")]
)
def test_cycles_become_time_at_the_cores_clock(cycles: int, text: str) -> None:
    assert units.time_of_cycles(cycles, 2_400_000_000).strip() == text


@given(st.floats(0, 1), st.integers(1, 80))
def test_a_bar_fills_its_cells_and_only_a_whole_is_drawn_whole(share: float, cells: int) -> None:
    text = plain(bar(share, cells))
    assert len(text) == cells
    assert (text == "━" * cells) == (share == 1)
    assert (text == "┈" * cells) == (share == 0)


@given(st.lists(st.one_of(st.none(), st.floats(0, 10)), max_size=300), st.integers(1, 60), st.integers(1, 4))
def test_a_history_line_stays_in_its_cells(values: list[float | None], cells: int, rows: int) -> None:
    drawn = history(values, cells, rows, 5.0)
    assert [len(row) for row in drawn] == [cells] * rows
    assert all(0x2800 <= ord(char) <= 0x28FF for row in drawn for char in row)


def test_a_history_line_joins_a_jump_with_a_stroke() -> None:
    assert history([0.0, 1.0], 1, 1, 1.0) == [chr(0x2800 | 0x40 | 0x08 | 0x10 | 0x20)]


@given(st.floats(1e-6, 1e9))
def test_the_upper_edge_is_never_below_the_peak(peak: float) -> None:
    assert peak * 0.999999 <= nice_top(peak) <= peak * 2.6


@given(TEXT, st.integers(2, 60))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, cells: int) -> None:
    lines = wrap(text, cells)
    assert all(cell_len(one) <= cells for one in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wrapping_breaks_at_spaces_and_keeps_an_indent() -> None:
    assert wrap("  one two three", 9) == ["  one two", "three"]


@given(TEXT, st.integers(0, 40))
def test_a_line_that_is_cut_ends_in_an_ellipsis(text: str, cells: int) -> None:
    cut = fit(line(text), cells)
    assert width(cut) <= cells
    assert width(line(text)) <= cells or cells == 0 or plain(cut).endswith("…")


@given(TEXT, TEXT, st.integers(1, 100))
def test_both_ends_of_a_spread_line_fill_the_width(left: str, right: str, cells: int) -> None:
    assert width(spread(line(left), line(right), cells)) == cells


@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 900), st.integers(0, 6))
def test_the_band_shows_what_a_ring_holds_that_is_filled_token_by_token(
    page: int, turning: int, length: int, sinks: int
) -> None:
    ring = Ring(page + turning, page, context=max(1, turning), sinks=min(sinks, page, max(1, turning)), length=length)
    held: dict[int, int] = {}
    for position in range(length):
        held[ring.slot(position)] = position
    expected = [Slot.FREE] * ring.capacity
    for slot, position in held.items():
        window = position >= length - (ring.context - ring.sinks)
        expected[slot] = Slot.SINK if position < ring.sinks else Slot.VISIBLE if window else Slot.PAST
    shown = [Slot.FREE] * ring.capacity
    for first, end, kind in ring.runs():
        shown[first:end] = [kind] * (end - first)
    assert shown == expected
    assert ring.visible == sum(kind in {Slot.SINK, Slot.VISIBLE} for kind in expected)


@given(st.integers(32, 1 << 20), st.integers(1, 200), st.integers(0, 1 << 21))
def test_a_band_of_any_ring_fills_its_cells(turning: int, cells: int, length: int) -> None:
    assert width(band(Ring(32 + turning, 32, turning, 4, length), cells)) == cells


def test_sinks_are_seen_however_long_the_ring() -> None:
    first = band(Ring(32 + (1 << 20), 32, 1 << 20, 4, 100), 40)[0]
    assert first == Span(str(Slot.SINK), Ink.SINK)


def test_markers_do_not_run_into_each_other() -> None:
    assert plain(markers([(0, "end 0"), (2, "start 2"), (12, "x")], 20)) == "end 0       x"


def test_a_slot_has_a_cell_even_at_the_end() -> None:
    assert cell_of(575, 576, 76) == 75
