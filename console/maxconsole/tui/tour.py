# SPDX-License-Identifier: Apache-2.0
"""A guided demo: captions, and the keys that go with them, pressed at a pace that one can follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from maxconsole.tui.control import Control
from maxconsole.tui.state import State

#: Seconds that a caption stands at least.
_READING: Final = 6.0


class Stage(Protocol):
    """What the tour uses of the main screen."""

    control: Control

    def reveal(self, index: int) -> None: ...

    def do_board_start(self) -> None: ...

    def do_pane_prompt(self) -> None: ...

    def do_answer_send(self) -> None: ...

    def type_into_prompt(self, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Step:
    """`caption` stands from `begin` until `done` holds and it has been read. `type` is typed first, a key a tick."""

    caption: str
    begin: Callable[[Stage], None] = lambda _stage: None
    done: Callable[[Stage], bool] = lambda _stage: True
    type: str = ""
    reading: float = _READING


class Tour:
    """Walks through `steps`. Call `tick` ten times a second; `caption` is what to show, "" when it is over."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self._at = -1
        self._began = 0.0
        self._typed = 0
        self._sent = True

    @property
    def over(self) -> bool:
        return self._at >= len(self._steps)

    @property
    def caption(self) -> str:
        if self._at < 0 or self.over:
            return ""
        return f"{self._at + 1}/{len(self._steps)}  {self._steps[self._at].caption}"

    def end(self) -> None:
        """The rest is left out."""
        self._at = len(self._steps)

    def tick(self, stage: Stage, now: float) -> None:
        """Goes on as far as it is time to. `now` is in seconds."""
        if self._at < 0:
            self._go(stage, 0, now)
        if self.over:
            return
        step = self._steps[self._at]
        if self._typed < len(step.type):
            stage.type_into_prompt(step.type[self._typed])
            self._typed += 1
        elif not self._sent:
            self._sent = True
            stage.do_answer_send()
        elif now - self._began >= step.reading and step.done(stage):
            self._go(stage, self._at + 1, now)

    def _go(self, stage: Stage, index: int, now: float) -> None:
        self._at, self._began, self._typed = index, now, 0
        if not self.over:
            step = self._steps[index]
            self._sent = not step.type
            step.begin(stage)


def live_tour(questions: tuple[str, str]) -> Tour:
    """With a board: start it, ask two questions, look at all panes."""
    first, second = questions
    return Tour(
        [
            Step("F5 packs the weights, builds the firmware, flashes it and starts the board.", _start, _ready),
            Step(
                "The board is ready. A question goes to it as tokens; prefill works through many of them at once.",
                lambda stage: stage.do_pane_prompt(),
                _has_words,
                first,
            ),
            Step("Pane 1: where the cycles go. Each token that is made adds one decode step.", _pane(0), _answered),
            Step(
                "A second question. Keys and values of the first are still cached: only what is new is computed.",
                lambda stage: stage.do_pane_prompt(),
                _has_words,
                second,
            ),
            Step("Pane 2: how often each cache had to fetch from the next, step by step.", _pane(1), _answered),
            Step("Pane 3: the KV ring, slot by slot: what the next token sees, and where it goes.", _pane(2)),
            Step("Pane 5: the last step, kernel by kernel. + and the arrows look closer.", _pane(4)),
            _LAST,
        ]
    )


def recorded_tour() -> Tour:
    """With a recording that plays by itself."""
    return Tour(
        [
            Step("This is a recording of a real run; panes cannot tell it from a board. F9 holds it.", _pane(0)),
            Step("Pane 1: where the cycles go. Each token that is made adds one decode step.", _pane(0), _has_words),
            Step("Pane 2: how often each cache had to fetch from the next, step by step.", _pane(1)),
            Step("Pane 3: the KV ring. When it wraps, the oldest tokens go and the sinks stay.", _pane(2), _played),
            Step("Pane 5: the last step, kernel by kernel. + and the arrows look closer.", _pane(4)),
            _LAST,
        ]
    )


def _pane(index: int) -> Callable[[Stage], None]:
    return lambda stage: stage.reveal(index)


def _start(stage: Stage) -> None:
    stage.do_board_start()


def _ready(stage: Stage) -> bool:
    return stage.control.state is State.READY


def _has_words(stage: Stage) -> bool:
    turns = stage.control.chat.turns
    return bool(turns) and bool(turns[-1].text)


def _answered(stage: Stage) -> bool:
    return not stage.control.answering


def _played(stage: Stage) -> bool:
    player = stage.control.player
    return player is None or player.playback().ended


_LAST: Final = Step(
    "That was the tour; the console is yours. F1 explains every number, Ctrl+P finds every command, Ctrl+Q leaves.",
    lambda stage: stage.do_pane_prompt(),
)
