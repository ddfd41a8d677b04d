# SPDX-License-Identifier: Apache-2.0
"""Pane 4: what the board says, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from maxconsole.tui.actions import Where, bindings
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import grouped
from maxconsole.tui.widgets.rule import Rule
from maxconsole.tui.widgets.scroller import Scroller

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import LogLine, Snapshot

#: Letter and ink of a line's level (wire.LogLevel), and of text outside frames.
_LEVELS: Final = {0: ("E", Ink.BAD), 1: ("W", Ink.WARN), 2: ("I", Ink.DIM), 3: ("D", Ink.DIM), None: ("·", Ink.DIM)}
#: Text outside frames is hidden with the informative lines.
_TEXT_LEVEL: Final = 2
#: What the level key walks through: the highest level shown, and how it is called.
_FILTERS: Final = ((3, "all"), (2, "info"), (1, "warnings"), (0, "errors"))


class LogView(Scroller):
    """The lines in sight of what telemetry keeps; older ones are gone, and their count is known."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.LOG), *bindings(Where.PANES)]
    WHERE = Where.LOG

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[LogLine] = []

    def put(self, lines: list[LogLine]) -> None:
        """Shows these lines."""
        self._lines = lines
        self.changed()

    def line_count(self) -> int:
        return len(self._lines)

    def line(self, y: int) -> Line:
        entry = self._lines[y]
        letter, ink = _LEVELS.get(entry.level, ("?", Ink.WARN))
        body = Ink.DIM if entry.level == 3 else ink if entry.level in {0, 1} else Ink.PLAIN
        arrived = f"{entry.arrived_ns / 1e9:8.3f}"
        return line(Span(arrived, Ink.DIM), Span(f" {letter} ", ink), Span(entry.text.expandtabs(4), body))


class LogPane(Vertical):
    """A rule and the view."""

    NUMBER = "4"
    NAME = "Log"

    snapshot: Snapshot | None = None
    _filter = 0

    def compose(self) -> ComposeResult:
        yield Rule(self.NUMBER, self.NAME)
        yield LogView()

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)

    def show(self, snapshot: Snapshot) -> None:
        """Takes the log of `snapshot` if it has grown."""
        before, self.snapshot = self.snapshot, snapshot
        if before is None or before.log_lines != snapshot.log_lines:
            self._draw()

    def clear(self) -> None:
        """Forgets the board that was shown."""
        self.snapshot = None
        self._draw()

    def next_level(self) -> None:
        """Hides one level more, or shows all again."""
        self._filter = (self._filter + 1) % len(_FILTERS)
        self._draw()

    def toggle_follow(self) -> None:
        """Keeps the newest line in sight, or stays."""
        self.view.follow(not self.view.following)
        self._say()

    def set_tabbed(self, tabbed: bool) -> None:
        """Whether a tab strip stands for the rule."""
        self.query_one(Rule).display = not tabbed

    def headline(self) -> Line:
        """How many lines came, and which are shown."""
        if self.snapshot is None:
            return ()
        name = _FILTERS[self._filter][1]
        held = "" if self.view.following else "  ║ held"
        return line(grouped(self.snapshot.log_lines), Span(f" lines, {name}{held}", Ink.DIM))

    def figure(self) -> str:
        """For the tab strip."""
        return grouped(self.snapshot.log_lines) if self.snapshot else ""

    def on_descendant_focus(self) -> None:
        self._say()

    def on_descendant_blur(self) -> None:
        self._say()

    def _draw(self) -> None:
        highest = _FILTERS[self._filter][0]
        lines = self.snapshot.log if self.snapshot else ()
        self.view.put([one for one in lines if (_TEXT_LEVEL if one.level is None else one.level) <= highest])
        self._say()

    def _say(self) -> None:
        self.query_one(Rule).say(headline=self.headline(), lit=self.view.has_focus)
