# SPDX-License-Identifier: Apache-2.0
"""The bar at the top: board, link, losses, model, speed, and whether cycles are modelled or measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from maxconsole.tui.drawing.ink import Ink, Line, Span, fit, line, width
from maxconsole.tui.drawing.units import data_rate, grouped, token_rate
from maxconsole.tui.state import State
from maxconsole.tui.widgets.inked import Inked

_MODEL: Final = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything that the bar shows. None stands for what nobody knows yet."""

    state: State = State.NONE
    board: str | None = None
    model: str | None = None
    carrier: str = ""  # RTT, UART, replay
    place: str = ""  # where a replay stands, and how fast it goes
    link_bytes_per_s: float | None = None
    dropped: int = 0  # events that the board had no room for
    damaged: int = 0  # frames lost or bad on the way
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    badge: str = ""  # MODELLED 3, MEASURED, NOT TIMED
    recording: bool = False


class StatusBar(Inked):
    """Everything in its shortest form, lengthened as far as there is room."""

    DEFAULT_CSS = "StatusBar { height: 1; dock: top; }"

    _standing = Standing()

    def show(self, standing: Standing) -> None:
        """Draws `standing`."""
        if standing != self._standing:
            self._standing = standing
            self.redraw()

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        del rows
        return [status_line(self._standing, cells)]


def status_line(standing: Standing, cells: int) -> Line:
    """The bar in exactly `cells` cells."""
    right = _right(standing)
    room = cells - width(right) - 1
    parts = _parts(standing)
    chosen = [len(variants) - 1 for variants in parts]
    for index in sorted(range(len(parts)), key=lambda one: (one != _MODEL, one)):  # the model's name first
        for pick in range(len(parts[index])):
            trial = [*chosen[:index], pick, *chosen[index + 1 :]]
            if _length(parts, trial) <= room:
                chosen = trial
                break
    left: list[Span] = []
    for variants, pick in zip(parts, chosen, strict=True):
        if variants[pick]:
            left += [*([Span("  ")] if left else [Span(" ")]), *variants[pick]]
    shown = fit(tuple(left), max(0, room))
    return (*shown, Span(" " * (cells - width(shown) - width(right))), *right)


def _length(parts: Sequence[Sequence[Line]], chosen: Sequence[int]) -> int:
    return 1 + sum(width(variants[pick]) + 2 for variants, pick in zip(parts, chosen, strict=True) if variants[pick])


def _parts(standing: Standing) -> list[list[Line]]:
    """Each part from its longest form to its shortest."""
    shape, word, ink = standing.state.value
    board = standing.board or ""
    names = [line(Span(shape, ink), Span(f" {board} ", Ink.STRONG), Span(word, ink))] if board else []
    names += [line(Span(shape, ink), Span(f" {board or word}", Ink.STRONG if board else Ink.DIM))]
    parts = [names]
    rate = data_rate(standing.link_bytes_per_s)
    carrier = Span(f"{standing.carrier} ", Ink.DIM)
    if standing.place:
        place = line(Span(standing.place, Ink.ACCENT))
        parts.append([(carrier, *place, Span(f"  {rate}")), (carrier, *place), place])
    else:
        parts.append([line(carrier, rate), line(rate)] if standing.carrier else [()])
    parts.append(_losses(standing) if standing.carrier else [()])
    model = line(standing.model or "")
    parts.append([model, *(fit(model, cells) for cells in (20, 16, 13, 11, 9))])
    if standing.prefill_tokens_per_s is not None or standing.decode_tokens_per_s is not None:
        prefill, decode = token_rate(standing.prefill_tokens_per_s), token_rate(standing.decode_tokens_per_s)
        dim = Ink.DIM
        parts.append(
            [
                line(Span("prefill ", dim), prefill, Span("  decode ", dim), decode, Span(" tok/s", dim)),
                line(Span("pre ", dim), prefill, Span(" dec ", dim), decode, Span(" tok/s", dim)),
                line(Span("P ", dim), prefill, Span(" D ", dim), decode, Span(" t/s", dim)),
            ]
        )
    return parts


def _losses(standing: Standing) -> list[Line]:
    """Drops at the board and damage on the way; a warning sign as soon as there is one."""
    if not standing.dropped and not standing.damaged:
        return [line(Span("no drops", Ink.DIM)), line(Span("drop 0", Ink.DIM)), ()]
    dropped, damaged = grouped(standing.dropped), grouped(standing.damaged)
    return [
        line(Span(f"▲ {dropped} dropped, {damaged} damaged", Ink.WARN)),
        line(Span(f"▲ drop {dropped} bad {damaged}", Ink.WARN)),
    ]


def _right(standing: Standing) -> Line:
    parts: list[Span] = []
    if standing.recording:
        parts += [Span("● REC", Ink.BAD), Span(" ")]
    if standing.badge:
        parts.append(Span(f" {standing.badge} ", Ink.BADGE))
    return tuple(parts)
