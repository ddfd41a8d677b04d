# SPDX-License-Identifier: Apache-2.0
"""A job at work: its stages with their times, how to stop it, and what went wrong where it failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size

from maxconsole.tui.drawing.bars import bar
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.troubles import describe
from maxconsole.tui.drawing.units import lasted
from maxconsole.tui.job import Job, JobView, Outcome, Stage
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.widgets.inked import Inked
from maxconsole.tui.widgets.rule import Rule
from maxconsole.tui.widgets.scroller import Scroller

_PERIOD = 0.1
_NAME_CELLS = 10
_TIMES_CELLS = 32

#: What the stages are called on the screen.
_NAMES = {
    "fetch": "fetch",
    "plan": "plan",
    "pack": "pack weights",
    "build": "build",
    "flash": "flash",
    "boot": "boot",
    "verify": "verify",
}


class StageList(Inked):
    """A line for each stage, and what the one that runs is busy with."""

    _view: JobView | None = None

    def show(self, view: JobView) -> None:
        """Draws `view`."""
        self._view = view
        if len(stage_lines(view, 80)) + 1 != self.size.height:
            self.refresh(layout=True)
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The lines, and an empty one."""
        del container, viewport
        return 1 if self._view is None else len(stage_lines(self._view, width)) + 1

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        del rows
        return [] if self._view is None else stage_lines(self._view, cells)


class Troubles(Scroller):
    """The messages of a failed job."""

    def __init__(self) -> None:
        super().__init__()
        self._error: Exception | None = None
        self._lines: list[Line] = []
        self.following = False

    def show(self, error: Exception) -> None:
        """Draws `error`."""
        self._error = error
        if self.size.width:  # otherwise it has no place yet, and is told when it gets one
            self._lines = describe(error, max(20, self.size.width - 2))
            self.changed()

    def on_resize(self, _event: events.Resize) -> None:
        if self._error is not None:
            self.show(self._error)

    def line_count(self) -> int:
        return len(self._lines)

    def line(self, y: int) -> Line:
        return self._lines[y]


class JobScreen(Dialog[bool]):
    """Leaves by itself when the job is done, with True. Gives False after a failure or when stopped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "leave", show=False),
        Binding("b", "background", show=False),
    ]

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._job = job
        self._shown: JobView | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rule("", "At work")
            yield StageList()
            yield Troubles()
            yield DialogKeys(("Esc", "stop"))

    def on_mount(self) -> None:
        self.query_one(Troubles).display = False
        self._looking = self.set_interval(_PERIOD, self._look)
        self._look()

    def action_leave(self) -> None:
        """Stops a job that runs; leaves one that is over."""
        if self._job.view().outcome.over:
            self.dismiss(False)
        else:
            self._job.stop()

    def _look(self) -> None:
        view = self._job.view()
        if self.app.screen is not self:  # the terminal is too small just now
            return
        if view.outcome is Outcome.DONE:
            self._looking.stop()
            self.dismiss(True)
            return
        rule = self.query_one(Rule)
        rule.say(note=line(Span(view.title, Ink.DIM)), headline=line(lasted(view.elapsed)), lit=True)
        self.query_one(StageList).show(view)
        if view.outcome.over and (self._shown is None or not self._shown.outcome.over):
            self._end(view)
        self._shown = view

    def _end(self, view: JobView) -> None:
        self.query_one(DialogKeys).show(("↑↓", "scroll"), ("Enter", "back"))
        if view.outcome is Outcome.FAILED and view.error is not None:
            troubles = self.query_one(Troubles)
            troubles.display = True
            troubles.show(view.error)
            troubles.focus()


def stage_lines(view: JobView, cells: int) -> list[Line]:
    """All stages; below the one that runs, what it is busy with."""
    drawn: list[Line] = []
    for index, stage in enumerate(view.stages):
        last = index == len(view.stages) - 1
        drawn.append(_stage_line(stage, view, cells, last=last))
        if last and stage.detail and stage.ended is None:
            drawn.append(line(Span(f"   {stage.detail}", Ink.DIM)))
    drawn += [line(Span(f" · {_NAMES.get(name, name)}", Ink.DIM)) for name in view.ahead]
    if view.outcome is Outcome.STOPPING:
        drawn += [(), line(Span(" ◑ stopping …", Ink.WARN))]
    elif view.outcome is Outcome.STOPPED:
        drawn += [(), line(Span(" ■ stopped. Nothing was left behind.", Ink.WARN))]
    return drawn


def _stage_line(stage: Stage, view: JobView, cells: int, *, last: bool) -> Line:
    failed = last and view.outcome in {Outcome.FAILED, Outcome.STOPPED}
    mark = (
        Span(" ■ ", Ink.BAD)
        if failed
        else Span(" ● ", Ink.GOOD)
        if stage.ended is not None
        else Span(" ▶ ", Ink.ACCENT)
    )
    name = Span(f"{_NAMES.get(stage.name, stage.name):<{_NAME_CELLS + 4}}", Ink.STRONG if last else Ink.PLAIN)
    share = stage.share
    room = max(8, cells - 3 - _NAME_CELLS - 4 - 8 - _TIMES_CELLS)
    percent = "" if share is None else f"{share * 100:.0f} %"
    times = f"  {lasted(stage.elapsed(view.elapsed))}"
    left = stage.remaining(view.elapsed)
    if left is not None and not view.outcome.over:
        times += f", {lasted(left)} to go"
    elif stage.ended is None and not view.outcome.over and not stage.total:
        times += ", length unknown"
    return (mark, name, *bar(share or 0.0, room), Span(f"{percent:>7}"), Span(times, Ink.DIM))
