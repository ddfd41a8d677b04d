# SPDX-License-Identifier: Apache-2.0
"""The events of a core's counters: the table, and what a user chooses from it."""

from __future__ import annotations

import pytest

from maxconsole.boards import list_boards, load_board
from maxconsole.boards.events import choose_events, event_name, events_of
from maxconsole.errors import UserError
from maxconsole.schema.wire import COUNTERS

BOARD = load_board("aimax395-virtual")
OWN = tuple(event.number for event in BOARD.pmu.events)


def test_the_table_knows_every_event_that_a_shipped_profile_counts() -> None:
    for name in list_boards():
        board = load_board(name)
        for event in board.pmu.events:
            assert events_of(board)[event.name].number == event.number


def test_no_two_events_share_a_number_and_each_says_what_it_counts() -> None:
    table = events_of(BOARD)
    assert len({one.number for one in table.values()}) == len(table)
    assert all(one.meaning and 0 <= one.number <= 0xFFFF for one in table.values())


def test_what_is_chosen_comes_first_and_the_profile_fills_the_rest() -> None:
    assert choose_events(BOARD, ()) == OWN
    chosen = choose_events(BOARD, ("br_mis_pred", "0x2D", " L1D_CACHE "))
    assert chosen[:3] == (0x10, 0x2D, 0x04)
    assert len(set(chosen)) == COUNTERS
    assert list(chosen[3:]) == [number for number in OWN if number not in chosen[:3]][: COUNTERS - 3]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (["L1D_CASHE"], "L1D_CASHE"),
        (["0x10000"], "0x10000"),
        (["-1"], "-1"),
        (["1e3"], "1E3|1e3"),
        ([hex(number) for number in range(0x40, 0x47)], "7 events"),
    ],
)
def test_a_wrong_choice_is_refused_with_what_was_wrong(wanted: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says) as refused:
        choose_events(BOARD, wanted)
    assert refused.value.hint


def test_a_near_miss_is_helped() -> None:
    with pytest.raises(UserError) as refused:
        choose_events(BOARD, ["L2D_CACHE_REFIL"])
    assert "L2D_CACHE_REFILL" in refused.value.hint


def test_numbers_without_a_name_are_shown_as_numbers() -> None:
    assert event_name(BOARD, 0x10) == "BR_MIS_PRED"
    assert event_name(BOARD, 0xC001) == "0xc001"


def test_what_only_a_model_counts_is_not_offered_for_silicon() -> None:
    assert event_name(BOARD, 0xC000) == "MODEL_PORT_BOUND"
    assert event_name(load_board("rpi5"), 0xC000) == "0xc000"
