# SPDX-License-Identifier: Apache-2.0
"""Nothing that a board says can steer the terminal."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from maxconsole.link.text import printable


def test_controls_are_escaped() -> None:
    assert printable("a\x1b[2Jb\x07\x7f\x9b1m") == "a\\x1b[2Jb\\x07\\x7f\\x9b1m"
    assert printable("safe \u202e evil") == "safe \\u202e evil"


def test_chosen_controls_stay() -> None:
    assert printable("a\tb\nc", keep="\n\t") == "a\tb\nc"
    assert printable("a\tb\nc") == "a\\x09b\\x0ac"


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert printable(b"ok \xff\xfe \xe4\xb8\x96") == "ok \ufffd\ufffd 世"


@given(st.one_of(st.text(), st.binary()))
def test_no_control_character_gets_through(text: str | bytes) -> None:
    assert not any(unicodedata.category(character) == "Cc" for character in printable(text))
