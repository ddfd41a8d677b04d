# SPDX-License-Identifier: Apache-2.0
"""The bar at the top: board, link, losses, model, speed, and whether cycles are modelled or measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from maxconsole.tui.drawing.ink import Ink, Line, Span, fit, line, width
from maxconsole.tui.drawing.units import data_rate, grouped, token_rate
from maxconsole.tui.widgets.inked import Inked


class State(Enum):
    """What the console is doing with its board: a shape, a word and an ink."""

    NONE = ("○", "no board", Ink.DIM)
    STARTING = ("◐", "starting", Ink.WARN)
    READY = ("●", "ready", Ink.GOOD)
    ANSWERING = ("▶", "answering", Ink.ACCENT)
    STOPPING = ("◑", "stopping", Ink.WARN)
    PAUSED = ("║", "paused", Ink.WARN)
    FAILED = ("×", "failed", Ink.BAD)


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything that the bar shows. None stands for what nobody knows yet."""

    state: State = State.NONE
    board: str | None = None
    model: str | None = None
    carrier: str = ""  # RTT, UART, replay 4x
    link_bytes_per_s: float | None = None
    dropped: int = 0  # events that the board had no room for
    damaged: int = 0  # frames lost or bad on the way
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    badge: str = ""  # MODELLED 3, MEASURED, NOT TIMED
    recording: bool = False


class StatusBar(Inked):
    """Shortens what matters least until all fits: words first, then the model's name, then the board's."""

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
    chosen = [0] * len(parts)
    while (total := _length(parts, chosen)) > room:
        shorter = [index for index, variants in enumerate(parts) if chosen[index] + 1 < len(variants)]
        if not shorter:
            break
        # of those that can still give way, the one that is longest now
        index = max(shorter, key=lambda one: width(parts[one][chosen[one]]))
        chosen[index] += 1
    del total
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
    if standing.carrier:
        rate = data_rate(standing.link_bytes_per_s)
        parts.append([line(Span(f"{standing.carrier} ", Ink.DIM), rate), line(rate)])
        parts.append(_losses(standing))
    if standing.model:
        parts.append([line(standing.model), *(fit(line(standing.model), cells) for cells in (16, 12, 9))])
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
        return [line(Span("no drops", Ink.DIM)), line(Span("drop 0", Ink.DIM))]
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
