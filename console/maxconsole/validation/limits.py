# SPDX-License-Identifier: Apache-2.0
"""What a virtual board can do at best, measured by small programs on it."""

from __future__ import annotations

from dataclasses import dataclass

from maxconsole.boards import load_board
from maxconsole.errors import UserError
from maxconsole.session.machine import Badge
from maxconsole.validation.bench import run_loops
from maxconsole.validation.loop_programs import LOOPS
from maxconsole.validation.memory import TEAMS, measure

_LOOP = "sdot16_indep"
_MACS = 16 * 16  # of one turn: 16 SDOT of 16
_TURNS = 2000


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes that so many cores together move in a second; copied bytes count once."""

    what: str
    cores: int
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Limits:
    """`macs_per_cycle` of one core, by independent SDOT."""

    board: str
    badge: str
    clock_hz: int
    macs_per_cycle: float
    rates: tuple[Rate, ...]


def measure_limits(name: str) -> Limits:
    """Raises UserError for a board that is not virtual, ToolMissing without a compiler or an emulator."""
    board = load_board(name)
    if board.virtual is None:
        raise UserError(f"{board.name} is not a virtual board", hint="choose one that is: `maxconsole boards`")
    (loop,) = (loop for loop in LOOPS if loop.name == _LOOP)
    figures = measure(board)
    badge = Badge(modelled=True, model_version=int(figures["model version"]))
    rates = tuple(
        Rate(what, cores, figures[f"{what} {cores}"] * 1e9) for what in ("read", "write", "copy") for cores in TEAMS
    )
    macs = _MACS / run_loops((loop,), _TURNS, board_name=name).cycles[_LOOP]
    return Limits(board.name, str(badge), board.need("cpu.clock_hz", board.cpu.clock_hz), macs, rates)
