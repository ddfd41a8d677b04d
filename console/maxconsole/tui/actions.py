# SPDX-License-Identifier: Apache-2.0
"""The one table of what a user can do. Keys, command palette, footer and help are all read from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from textual.binding import Binding, BindingType


class Where(StrEnum):
    """Where an action's keys count. Keys of a pane count while that pane has the focus."""

    ANYWHERE = "anywhere"  # on the main screen, also while typing
    PROMPT = "prompt"
    PANES = "panes"  # in any pane, not while typing
    KERNELS = "kernels"
    CACHES = "caches"
    RING = "ring"
    LOG = "log"
    TIMELINE = "timeline"


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides which actions apply at the moment."""

    attached: bool = False  # a session with a board (or a recording) is open
    answering: bool = False
    asked: bool = False  # there is a question that could be edited
    recording: bool = False
    replaying: bool = False
    where: Where = Where.PROMPT
    touring: bool = False  # a guided demo runs


Test: TypeAlias = Callable[[Situation], bool]


def _always(_situation: Situation) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Action:
    """`area: verb` is its name in the palette, `help` says in one sentence what it does.

    `footer` is the short word under the screen, empty for none; actions come in the table's order. The screen's or
    app's method `do_AREA_VERB` carries it out.
    """

    area: str
    verb: str
    keys: tuple[str, ...]
    help: str
    where: Where = Where.ANYWHERE
    footer: str = ""
    applies: Test = _always

    @property
    def id(self) -> str:
        return f"{self.area}.{self.verb}".replace(" ", "_")

    @property
    def title(self) -> str:
        return f"{self.area}: {self.verb}"

    @property
    def method(self) -> str:
        return "do_" + self.id.replace(".", "_")

    @property
    def key_label(self) -> str:
        """The first key as people write it: `F5`, `Ctrl+N`, `Enter`, `s`."""
        return key_label(self.keys[-1 if self.where is Where.PANES else 0]) if self.keys else ""


def _attached(s: Situation) -> bool:
    return s.attached


def _idle(s: Situation) -> bool:
    return s.attached and not s.answering and not s.replaying


def _skips(s: Situation) -> bool:
    return s.replaying and s.where is not Where.TIMELINE  # whose arrows move its cursor


ACTIONS: Final = (
    Action("answer", "send", ("enter",), "Send the prompt to the board.", Where.PROMPT, "send",
           lambda s: not s.replaying),
    Action("answer", "stop", ("escape",), "Stop the answer; what was said so far stays.", footer="stop",
           applies=lambda s: s.answering),
    Action("tour", "end", ("f12",), "End the guided demo; the console stays as it is.", footer="end tour",
           applies=lambda s: s.touring),
    Action("replay", "pause", ("f9",), "Hold the recording, or let it run on.", footer="pause",
           applies=lambda s: s.replaying),
    Action("prompt", "new line", ("ctrl+j", "shift+enter", "alt+enter"), "Start a new line in the prompt.",
           Where.PROMPT, "", lambda s: not s.replaying),
    Action("pane", "next", ("f6",), "Move to the next pane.", footer="next pane"),
    Action("help", "show", ("f1",), "Explain the numbers of the pane you are in, and all keys.", footer="help"),
    Action("help", "commands", ("ctrl+p",), "Find a command by name.", footer="commands"),
    Action("board", "start", ("f5",), "Pack the weights, build the firmware, flash it and start the board.",
           footer="start", applies=lambda s: not s.attached or s.replaying),
    Action("board", "restart", ("f5",), "Build what has changed, flash it and start the board again.",
           footer="restart", applies=lambda s: s.attached and not s.replaying),
    Action("answer", "edit and resend", ("ctrl+r",),
           "Take your last question back into the prompt, then the one before. Sending it forgets what came after.",
           footer="edit last", applies=lambda s: s.asked and not s.answering and not s.replaying),
    Action("chat", "new", ("ctrl+n",), "Forget the conversation and empty the board's KV ring.", footer="new chat",
           applies=lambda s: _idle(s) and s.asked),
    Action("board", "pick", ("f2",), "Choose the board.", footer="board"),
    Action("model", "pick", ("f3",), "Choose the model; shows what fits the board.", footer="model"),
    Action("settings", "edit", ("f4",), "Sampling, what the counters count, context length and prefill batch.",
           footer="settings"),
    Action("board", "verify", (), "Have the board compare its memory with what was flashed.",
           applies=_idle),
    Action("board", "release", (), "Stop the board and let others use it.", applies=_attached),
    Action("pane", "previous", ("shift+f6",), "Move to the pane before."),
    Action("pane", "zoom", ("f7",), "Give the pane the whole screen, or put it back.", footer="zoom"),
    Action("pane", "prompt", ("escape", "i", "slash"), "Go back to the prompt.", Where.PANES, "prompt"),
    Action("pane", "kernels", ("1",), "Show where the cycles go.", Where.PANES),
    Action("pane", "caches", ("2",), "Show cache accesses and misses.", Where.PANES),
    Action("pane", "ring", ("3",), "Show the KV ring.", Where.PANES),
    Action("pane", "log", ("4",), "Show the board's log.", Where.PANES),
    Action("pane", "timeline", ("5",), "Show the last step, kernel by kernel, on each core.", Where.PANES),
    Action("code", "show", ("6",), "Show a kernel's machine code: its loops, ports, registers, and measured cycles.",
           Where.PANES),
    Action("kernels", "sort", ("s",), "Sort by share, by order of execution, or by IPC.", Where.KERNELS, "sort"),
    Action("kernels", "phase", ("p",), "Show prefill and decode together, or one alone.", Where.KERNELS, "phase"),
    Action("kernels", "core", ("c",), "Show all cores together, or one alone.", Where.KERNELS, "core"),
    Action("caches", "phase", ("p",), "Show prefill and decode together, or one alone.", Where.CACHES, "phase"),
    Action("log", "follow", ("f",), "Keep the newest line in sight, or stay where you are.", Where.LOG, "follow"),
    Action("log", "level", ("l",), "Hide the less important lines: all, info, warnings, errors.", Where.LOG, "level"),
    Action("timeline", "phase", ("p",), "Show the last decode step, or the last prefill batch.", Where.TIMELINE,
           "phase"),
    Action("timeline", "closer", ("plus", "equals_sign"), "Look twice as close, around the cursor.", Where.TIMELINE,
           "closer"),
    Action("timeline", "less close", ("minus",), "Look half as close.", Where.TIMELINE, "wider"),
    Action("timeline", "later", ("right",), "Move the cursor to the right; the view goes along.", Where.TIMELINE,
           "later"),
    Action("timeline", "earlier", ("left",), "Move the cursor to the left; the view goes along.", Where.TIMELINE,
           "earlier"),
    Action("timeline", "much later", ("shift+right",), "Move a quarter of the view to the right.", Where.TIMELINE),
    Action("timeline", "much earlier", ("shift+left",), "Move a quarter of the view to the left.", Where.TIMELINE),
    Action("timeline", "whole", ("home",), "Show the whole step again.", Where.TIMELINE, "whole"),
    Action("recording", "start", ("f8",), "Record everything the board sends to a file.", footer="record",
           applies=lambda s: s.attached and not s.recording and not s.replaying),
    Action("recording", "stop", ("f8",), "End the recording.", footer="end rec.",
           applies=lambda s: s.attached and s.recording),
    Action("replay", "faster", ("f10",), "Play at twice the speed, up to 64 times.", footer="faster",
           applies=lambda s: s.replaying),
    Action("replay", "slower", ("shift+f10",), "Play at half the speed.", applies=lambda s: s.replaying),
    Action("replay", "forward", ("right",), "Go ten seconds forward.", Where.PANES, "+10 s", _skips),
    Action("replay", "back", ("left",), "Go ten seconds back.", Where.PANES, "-10 s", _skips),
    Action("replay", "again", (), "Play the recording from its start.", applies=lambda s: s.replaying),
    Action("recording", "open", (), "Play a recording: one that ships with the console, or one of this folder."),
    Action("view", "next theme", (), "Change colors: dark, light, safe for color-blind eyes, monochrome."),
    Action("view", "save picture", (), "Write the screen to an SVG file in the current folder."),
    Action("console", "quit", ("ctrl+q",), "Stop the board and leave. Ctrl+C does the same when nothing is selected.",
           footer="quit"),
)  # fmt: skip

_KEY_NAMES: Final = {
    "ctrl": "Ctrl", "shift": "Shift", "alt": "Alt", "enter": "Enter", "escape": "Esc", "slash": "/", "space": "Space",
    "up": "↑", "down": "↓", "left": "←", "right": "→", "pageup": "PgUp", "pagedown": "PgDn", "tab": "Tab",
    "home": "Home", "plus": "+", "minus": "-",
}  # fmt: skip


def key_label(key: str) -> str:
    """A Textual key name as people write it."""
    parts = key.split("+")
    named = [_KEY_NAMES.get(part, part.upper() if part[0] == "f" and part[1:].isdigit() else part) for part in parts]
    if len(named) > 1 and len(named[-1]) == 1:
        named[-1] = named[-1].upper()
    return "+".join(named)


def find(action_id: str) -> Action:
    """The action with this id. Raises KeyError."""
    return _BY_ID[action_id]


_BY_ID: Final = {action.id: action for action in ACTIONS}


def bindings(where: Where) -> list[BindingType]:
    """Textual bindings of the actions of one place. Those that share a key are told apart by what applies."""
    keys = dict.fromkeys(key for action in ACTIONS if action.where is where for key in action.keys)
    first = where is Where.ANYWHERE  # also before a widget that takes text sees the key
    return [Binding(key, f"screen.perform('{where}', '{key}')", show=False, priority=first) for key in keys]


def on_key(where: Where, key: str, situation: Situation) -> Action | None:
    """The action that `key` means in `where` now."""
    for action in ACTIONS:
        if action.where is where and key in action.keys and action.applies(situation):
            return action
    return None


def applicable(situation: Situation) -> Iterator[Action]:
    """What applies now, in the table's order: all places' actions count, because the palette reaches them all."""
    return (action for action in ACTIONS if action.applies(situation))


def for_footer(situation: Situation) -> list[Action]:
    """What the footer offers: the focused place's own actions first."""
    own = situation.where is not Where.PROMPT
    places = {situation.where, Where.ANYWHERE} | ({Where.PANES} if own else set())
    shown = [action for action in applicable(situation) if action.footer and action.where in places]
    return sorted(shown, key=lambda action: action.where is Where.ANYWHERE)
