# SPDX-License-Identifier: Apache-2.0
"""Settings: how answers are made, and how the board is set up. A value that is not possible says so at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Label, Static

from maxconsole.errors import UserError
from maxconsole.session.route import Route
from maxconsole.tui.drawing.ink import Ink, Span, line
from maxconsole.tui.figures.choices import Counters
from maxconsole.tui.presets import ABOUT
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.seam import Choice, Generating
from maxconsole.tui.widgets.rule import Rule
from maxconsole.tui.widgets.toggle import Toggle

if TYPE_CHECKING:
    from maxconsole.session.machine import Timing
    from maxconsole.session.route import AttentionForm, NpuMode


T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class Turn(Generic[T]):
    """One setting of few values: what each is called, and what is said of it beside the toggle."""

    name: str
    label: str
    values: Sequence[T]
    names: Sequence[str]
    about: Sequence[str]


_COUNTERS: Final = Turn(
    "counters", "they count", tuple(Counters), tuple(Counters), tuple(ABOUT[one] for one in Counters)
)
#: Mode, and whether it rounds to fp16.
_NPU: Final[Turn[tuple[NpuMode, bool]]] = Turn(
    "npu",
    "NPU",
    (("off", False), ("linear", False), ("linear", True), ("pv", False), ("all", False), ("all", True)),
    ("off", "linear", "linear, fp16", "pv", "all", "all, fp16"),
    (
        "prompts are the cores' work alone",
        "projections and feed-forward of prompts",
        "the same, results rounded to fp16",
        "attention's values of prompts",
        "linear and pv",
        "the same, linear's results rounded to fp16",
    ),
)
_ATTENTION: Final[Turn[AttentionForm]] = Turn(
    "attention",
    "attention",
    ("default", "int8-pv", "int16"),
    ("default", "int8-pv", "int16"),
    ("as it ships", "probabilities of 7 bits: quicker, less exact", "queries of 16 bits: slower, more exact"),
)
_TIMING: Final[Turn[Timing]] = Turn(
    "timing",
    "virtual board",
    ("fast", "timed", "off"),
    ("fast", "timed", "off"),
    (
        "quicker: port bounds and caches only",
        "an out-of-order core, instruction by instruction",
        "quickest: nothing is counted",
    ),
)
_TURNS: Final[Mapping[str | None, Turn[Any]]] = {one.name: one for one in (_COUNTERS, _NPU, _ATTENTION, _TIMING)}


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
                yield _turn(_COUNTERS, self._choice.counters)
                yield Label("Computing (from the next answer on)", classes="heading")
                yield _row(_INT8, self._choice.route.int8_tokens)
                route = self._choice.route
                yield _turn(_NPU, (route.npu, route.npu_f16 and route.npu in ("linear", "all")))
                yield _turn(_ATTENTION, self._choice.route.attention)
                yield Label("Board (from the next start on)", classes="heading")
                for field in _CHOICE:
                    yield _row(field, getattr(self._choice, field.name))
                yield _turn(_TIMING, self._choice.timing)
            yield Static("", id="complaint", markup=False)
            yield DialogKeys(("↑↓ Tab", "move"), ("Enter", "save"), ("Esc", "leave as it was"))

    def on_mount(self) -> None:
        self.query_one(Rule).say(note=line(Span("sampling, counters, computing, context, batch", Ink.DIM)), lit=True)
        self.query(Input).first().focus()

    def _turned(self, turn: Turn[T]) -> T:
        return turn.values[self.query_one(f"#{turn.name}", Toggle).index]

    @on(Toggle.Turned)
    def say_what_it_means(self, event: Toggle.Turned) -> None:
        """Beside the toggle."""
        turn = _TURNS[event.toggle.id]
        self.query_one(f"#about-{turn.name}", Label).update(turn.about[event.toggle.index])

    def on_input_submitted(self) -> None:
        self.action_save()

    def action_save(self) -> None:
        """Checks everything, and closes if it is possible."""
        try:
            generating = replace(self._generating, **self._values(_GENERATING))  # type: ignore[arg-type]
            choice = replace(self._choice, **self._values(_CHOICE))  # type: ignore[arg-type]
            npu, npu_f16 = self._turned(_NPU)
            int8 = self._values((_INT8,))
            route = Route(**int8, npu=npu, npu_f16=npu_f16, attention=self._turned(_ATTENTION))  # type: ignore[arg-type]
            choice = replace(choice, timing=self._turned(_TIMING), counters=self._turned(_COUNTERS), route=route)
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


def _turn(turn: Turn[T], value: T) -> Horizontal:
    chosen = turn.values.index(value)
    return Horizontal(
        Label(turn.label, classes="label"),
        Toggle(turn.names, chosen, id=turn.name),
        Label(turn.about[chosen], id=f"about-{turn.name}", classes="about"),
        classes="field",
    )
