# SPDX-License-Identifier: Apache-2.0
"""One table of actions: every one can be carried out, no two share a key at the same time and place."""

from __future__ import annotations

import itertools

import pytest

from maxconsole.tui.actions import ACTIONS, Action, Situation, Where, applicable, find, for_footer, key_label, on_key
from maxconsole.tui.drawing.ink import plain, width
from maxconsole.tui.screens.help import help_lines
from maxconsole.tui.screens.main import MainScreen

SITUATIONS = [
    Situation(*flags, where=where)
    for flags in itertools.product((False, True), repeat=5)
    for where in (Where.PROMPT, Where.KERNELS, Where.CACHES, Where.RING, Where.LOG, Where.TIMELINE)
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_has_a_method_and_is_explained(action: Action) -> None:
    assert callable(getattr(MainScreen, action.method))
    assert action.help.endswith(".")
    assert find(action.id) is action


def test_no_two_actions_mean_the_same_key_at_the_same_time() -> None:
    for situation in SITUATIONS:
        for where in Where:
            keys = [key for one in applicable(situation) if one.where is where for key in one.keys]
            assert len(keys) == len(set(keys)), (situation, where)


def test_a_key_means_what_applies() -> None:
    assert on_key(Where.ANYWHERE, "f5", Situation()) is find("board.start")
    assert on_key(Where.ANYWHERE, "f5", Situation(attached=True)) is find("board.restart")
    assert on_key(Where.ANYWHERE, "escape", Situation(attached=True)) is None
    assert on_key(Where.ANYWHERE, "escape", Situation(attached=True, answering=True)) is find("answer.stop")


def test_the_footer_always_offers_help_and_a_way_out() -> None:
    for situation in SITUATIONS:
        words = [action.footer for action in for_footer(situation)]
        assert words[-1] == "quit"
        assert "help" in words


def test_a_pane_s_own_keys_come_first_in_the_footer() -> None:
    assert [one.footer for one in for_footer(Situation(where=Where.KERNELS))][:3] == ["prompt", "sort", "phase"]


def test_help_lists_every_action_and_fits_the_width() -> None:
    lines = help_lines(Where.RING, 78)
    text = " ".join(plain(line) for line in lines)
    assert all(width(line) <= 78 for line in lines)
    assert all(action.title.split()[0] in text for action in ACTIONS)
    assert plain(lines[0]).strip() == "KV ring"


@pytest.mark.parametrize(("key", "label"), [("f5", "F5"), ("ctrl+n", "Ctrl+N"), ("shift+f6", "Shift+F6"), ("s", "s")])
def test_keys_are_written_as_people_write_them(key: str, label: str) -> None:
    assert key_label(key) == label
