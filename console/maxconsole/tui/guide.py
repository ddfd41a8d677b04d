# SPDX-License-Identifier: Apache-2.0
"""What an empty chat says: where one is, and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxconsole.tui.actions import find
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.state import State

if TYPE_CHECKING:
    from maxconsole.tui.control import Control


def guide(control: Control) -> list[Line]:
    """Lines for the state that the console is in."""
    if control.session is not None:
        if not control.session.identity.can_ask:
            return [(), line(Span("  This is a recording: watch the panes. ", Ink.DIM), *_keys("replay.pause"))]
        return [(), line(Span("  The board is ready. Type a question and press ", Ink.DIM), *_keys("answer.send"))]
    choice = control.choice
    start = "packs the weights, builds the firmware, flashes, starts"
    if choice.port is not None:
        start = f"attaches to the board at {choice.port}"
    lines = [
        (),
        _row("board", control.board_name, "board.pick", "takes another"),
        _row("model", control.model_name, "model.pick", "takes another"),
        _row("context", f"{choice.context} tokens, batch {choice.batch}", "settings.edit", "changes it"),
        (),
        line("  ", *_keys("board.start"), Span(start, Ink.DIM)),
        line("  ", *_keys("help.show"), Span("explains every number on this screen", Ink.DIM)),
    ]
    if control.state is State.FAILED:
        lines.insert(1, line(Span("  ■ the board is gone", Ink.WARN)))
    return lines


def prompt_hint(control: Control) -> str:
    """What an empty prompt says."""
    if control.session is None:
        return "" if control.state is State.STARTING else "Enter starts the board"
    return "ask, then Enter" if control.session.identity.can_ask else "a recording: F9 holds it, F5 starts a board"


def _row(label: str, value: str, action: str, words: str) -> Line:
    return line(Span(f"  {label:<10}", Ink.DIM), f"{value:<34}", *_keys(action), Span(words, Ink.DIM))


def _keys(action: str) -> Line:
    return line(Span(f"{find(action).key_label} ", Ink.KEY))
