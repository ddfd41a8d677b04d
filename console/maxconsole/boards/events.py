# SPDX-License-Identifier: Apache-2.0
"""The events that a board's performance counters can count: names, numbers, and a user's choice of them."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from maxconsole import paths
from maxconsole.boards.profile import Board
from maxconsole.errors import UserError
from maxconsole.schema.wire import COUNTERS

_NUMBER_MAX = 0xFFFF


@dataclass(frozen=True, slots=True)
class EventMeaning:
    """What a PMU event counts, in plain words. `number` is Arm's."""

    name: str
    number: int
    meaning: str


def events_of(board: Board) -> Mapping[str, EventMeaning]:
    """What the counters of `board` can count, by name; nothing for a core that has no table."""
    tables = [board.cpu.mcpu, *(["virtual"] if board.virtual is not None else [])]
    return {name: one for table in tables for name, one in _table(table).items()}


@cache
def _table(name: str) -> Mapping[str, EventMeaning]:
    file = paths.profiles_dir() / "pmu" / f"{name}.toml"
    if not file.is_file():
        return {}
    table = tomllib.loads(file.read_text("utf-8"))
    return {name: EventMeaning(name, one["number"], one["meaning"]) for name, one in table.items()}


def event_name(board: Board, number: int) -> str:
    """The name of event `number`, or the number itself where no table has it."""
    return next((name for name, one in events_of(board).items() if one.number == number), f"{number:#04x}")


def choose_events(board: Board, wanted: Sequence[str]) -> tuple[int, ...]:
    """Numbers for all counters of `board`: the `wanted` ones, names or numbers, then the profile's own.

    Raises UserError for a name that the core's table lacks, for a number outside 0 to 0xffff, and for too many.
    """
    chosen = list(dict.fromkeys(_number(board, one) for one in wanted))
    if len(chosen) > COUNTERS:
        raise UserError(f"{len(chosen)} events are chosen; the core has {COUNTERS} counters", hint="name fewer")
    chosen += [event.number for event in board.pmu.events if event.number not in chosen]
    return tuple(chosen[:COUNTERS])


def _number(board: Board, text: str) -> int:
    known = events_of(board)
    name = text.strip().upper()
    if name in known:
        return known[name].number
    try:
        number = int(name, 0)
    except ValueError:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UserError(
            f"{board.name} has no event {text.strip()!r}", hint=f"{hint}`maxconsole boards --events` lists them"
        ) from None
    if not 0 <= number <= _NUMBER_MAX:
        raise UserError(f"{text.strip()} is no event number", hint="they go from 0 to 0xffff")
    return number
