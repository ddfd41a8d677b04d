# SPDX-License-Identifier: Apache-2.0
"""Settings: how answers are made, and how the board is set up. A value that is not possible says so at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Label, Static

from maxconsole.errors import UserError
from maxconsole.tui.drawing.ink import Ink, Span, line
from maxconsole.tui.figures.choices import Counters
from maxconsole.tui.presets import ABOUT
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.seam import Choice, Generating, Route
from maxconsole.tui.widgets.rule import Rule
from maxconsole.tui.widgets.toggle import Toggle

if TYPE_CHECKING:
    from maxconsole.session.machine import Timing
    from maxconsole.session.setup import NpuMode


@dataclass(frozen=True, slots=True)
class Field:
    """One setting. `parse` raises ValueError for what is no such value; an empty text gives `empty` where allowed."""

    name: str
    label: str
    parse: Callable[[str], object]
    help: str
    optional: bool = False


_GENERATING: Final = (
    Field("temperature", "temperature", float, "0: the likeliest token; higher: more varied"),
    Field("top_k", "top-k", int, "of so many tokens; 0: as many as it can"),
    Field("top_p", "top-p", float, "of these, the likeliest with this share"),
    Field("repeat_penalty", "repeat penalty", float, "against tokens just used; 1: off"),
    Field("repeat_window", "repeat window", int, "so many latest tokens count as just used"),
    Field("seed", "seed", int, "same seed, same answer; empty: a new one", optional=True),
    Field("max_new", "longest answer", int, "tokens after which an answer is cut"),
    Field("system", "system prompt", str, "empty: what the model's template says by itself"),
)
_CHOICE: Final = (
    Field("context", "context", int, "tokens that a query can see"),
    Field("batch", "prefill batch", int, "prompt tokens computed together"),
    Field("cores", "cores", int, "that work; empty: as many as are best", optional=True),
)
_INT8: Final = Field("int8_tokens", "int8 weights", int, "for prompts of so many tokens and more; 0: none")
_NPU: Final[tuple[NpuMode, ...]] = ("off", "pv", "linear", "all")
_ABOUT_NPU: Final = {
    "off": "prompts are the cores' work alone",
    "pv": "multiplies attention's weights with the values",
    "linear": "computes projections and feed-forward of prompts",
    "all": "both of these",
}
_TIMING: Final[tuple[Timing, ...]] = ("fast", "timed", "off")
_ABOUT_TIMING: Final = {
    "timed": "an out-of-order core, instruction by instruction",
    "fast": "quicker: port bounds and caches only",
    "off": "quickest: nothing is counted",
}
_COUNTERS: Final = tuple(Counters)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the dialog gives back."""

    generating: Generating
    choice: Choice


class SettingsDialog(Dialog[Settings]):
    """`check` is asked before the dialog closes and raises UserError for values that are not possible."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", show=False, priority=True),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, generating: Generating, choice: Choice, check: Callable[[Choice, Generating], None]) -> None:
        super().__init__()
        self._generating = generating
        self._choice = choice
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rule("", "Settings")
            with VerticalScroll(can_focus=False):
                yield Label("Answers", classes="heading -first")
                for field in _GENERATING:
                    yield _row(field, getattr(self._generating, field.name))
                yield Label("Counters (from the next answer on)", classes="heading")
                with Horizontal(classes="field"):
                    yield Label("they count", classes="label")
                    yield Toggle(_COUNTERS, _COUNTERS.index(self._choice.counters), id="counters")
                    yield Label(ABOUT[self._choice.counters], id="about-counters", classes="about")
                yield Label("Prompts (from the next answer on)", classes="heading")
                yield _row(_INT8, self._choice.route.int8_tokens)
                with Horizontal(classes="field"):
                    yield Label("NPU", classes="label")
                    yield Toggle(_NPU, _NPU.index(self._choice.route.npu), id="npu")
                    yield Label(_ABOUT_NPU[self._choice.route.npu], id="about-npu", classes="about")
                yield Label("Board (from the next start on)", classes="heading")
                for field in _CHOICE:
                    yield _row(field, getattr(self._choice, field.name))
                with Horizontal(classes="field"):
                    yield Label("virtual board", classes="label")
                    yield Toggle(_TIMING, _TIMING.index(self._choice.timing), id="timing")
                    yield Label(_ABOUT_TIMING[self._choice.timing], id="about-timing", classes="about")
            yield Static("", id="complaint", markup=False)
            yield DialogKeys(("↑↓ Tab", "move"), ("Enter", "save"), ("Esc", "leave as it was"))

    def on_mount(self) -> None:
        self.query_one(Rule).say(note=line(Span("sampling, counters, prompts, context, batch", Ink.DIM)), lit=True)
        self.query(Input).first().focus()

    @property
    def _counters(self) -> Counters:
        return _COUNTERS[self.query_one("#counters", Toggle).index]

    @property
    def _timing(self) -> Timing:
        return _TIMING[self.query_one("#timing", Toggle).index]

    @property
    def _npu(self) -> NpuMode:
        return _NPU[self.query_one("#npu", Toggle).index]

    @on(Toggle.Turned, "#npu")
    def say_what_the_npu_does(self) -> None:
        """Beside the toggle."""
        self.query_one("#about-npu", Label).update(_ABOUT_NPU[self._npu])

    @on(Toggle.Turned, "#timing")
    def say_what_times(self) -> None:
        """Beside the toggle."""
        self.query_one("#about-timing", Label).update(_ABOUT_TIMING[self._timing])

    @on(Toggle.Turned, "#counters")
    def say_what_is_counted(self) -> None:
        """Beside the toggle."""
        self.query_one("#about-counters", Label).update(ABOUT[self._counters])

    def on_input_submitted(self) -> None:
        self.action_save()

    def action_save(self) -> None:
        """Checks everything, and closes if it is possible."""
        try:
            generating = replace(self._generating, **self._values(_GENERATING))  # type: ignore[arg-type]
            choice = replace(self._choice, **self._values(_CHOICE))  # type: ignore[arg-type]
            route = Route(**self._values((_INT8,)), npu=self._npu)  # type: ignore[arg-type]
            choice = replace(choice, timing=self._timing, counters=self._counters, route=route)
            self._check(choice, generating)
        except UserError as error:
            self.query_one("#complaint", Static).update(f"▲ {error.what}. {error.hint}")
            return
        self.dismiss(Settings(generating, choice))

    def _values(self, fields: tuple[Field, ...]) -> dict[str, object]:
        return {field.name: self._value(field) for field in fields}

    def _value(self, field: Field) -> object:
        widget = self.query_one(f"#{field.name}", Input)
        text = widget.value.strip()
        if not text and field.optional:
            return None
        try:
            return field.parse(text)
        except ValueError:
            widget.focus()
            kind = "a whole number" if field.parse is int else "a number"
            raise UserError(f"{field.label}: {text!r} is not {kind}", hint=field.help) from None


def _row(field: Field, value: object) -> Horizontal:
    text = "" if value is None else str(value)
    wide = field.parse is str
    return Horizontal(
        Label(field.label, classes="label"),
        Input(text, id=field.name, compact=True, select_on_focus=True, placeholder=field.help if wide else ""),
        *(() if wide else (Label(field.help, classes="about"),)),
        classes="field",
    )
