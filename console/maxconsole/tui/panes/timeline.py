# SPDX-License-Identifier: Apache-2.0
"""Pane 5: the last whole prefill batch or decode step, a lane a core and one for the NPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.binding import BindingType

from maxconsole.tui.actions import Where, bindings
from maxconsole.tui.drawing.axis import COUNTS, SECONDS, axis
from maxconsole.tui.drawing.ink import Ink, Line, Span, line, spread
from maxconsole.tui.drawing.lanes import lane, legend
from maxconsole.tui.drawing.units import grouped, percent, si, time_of_cycles
from maxconsole.tui.figures.choices import StepChoice
from maxconsole.tui.figures.view import View
from maxconsole.tui.panes.pane import Pane

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot
    from maxconsole.telemetry.steps import StepTrace
    from maxconsole.tui.figures.lane import Lane, Moment
    from maxconsole.tui.figures.timeline import Timeline

_GUTTER: Final = 11
_LANE_ROWS_MAX: Final = 3
#: What the line about the cursor takes with everything in it.
_DETAIL_CELLS: Final = 76
#: Of a view, what a leap of the cursor goes.
_LEAP: Final = 0.25
#: wire.Phase by choice; importing the schema would load numpy before the first paint.
_PHASES: Final = {StepChoice.PREFILL: 0, StepChoice.DECODE: 1}


class TimelinePane(Pane):
    """Axes in time and cycles, the lanes, and what is under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.TIMELINE), *bindings(Where.PANES)]
    WHERE = Where.TIMELINE
    NUMBER = "5"
    NAME = "Timeline"

    choice = StepChoice.DECODE
    view = View()
    core = 0  # of the lane with the cursor, counted from the top one
    _trace: StepTrace | None = None
    _timeline: Timeline | None = None
    _top = 0  # row of the first lane, as drawn
    _lane_rows = 1
    _room = 1
    _drawn_of: tuple[object, ...] = ()
    _body: Sequence[Line] = ()

    def digest(self, snapshot: Snapshot) -> None:
        """The lanes are only laid out anew for another step."""
        trace = self._choose(snapshot)
        if trace is self._trace:
            return
        from maxconsole.tui.figures.timeline import timeline  # noqa: PLC0415  numpy would delay the first paint

        self._trace, self._timeline = trace, None if trace is None else timeline(trace)

    def _choose(self, snapshot: Snapshot) -> StepTrace | None:
        """The step of the chosen phase; that of the other one as long as there is none."""
        wanted = _PHASES[self.choice]
        return snapshot.steps.get(wanted) or snapshot.steps.get(1 - wanted)

    def clear(self) -> None:
        self._trace = self._timeline = None
        super().clear()

    # Keys and mouse ---------------------------------------------------------------------------------------------

    def next_phase(self) -> None:
        """The last decode step, or the last prefill batch; the whole of it."""
        self.choice, self.view = self.choice.following, View()
        if self.snapshot is not None:
            self.digest(self.snapshot)
        self.redraw()

    def zoom(self, steps: int) -> None:
        """Closer, or less close where negative."""
        self._look(self.view.zoomed(steps))

    def move(self, *, forward: bool, far: bool = False) -> None:
        """The cursor goes a cell, or far; the view goes along."""
        step = _LEAP if far else 1 / self._room
        self._look(self.view.moved(step if forward else -step))

    def reset(self) -> None:
        """The whole step."""
        self._look(View())

    def key_up(self) -> None:
        self._choose_lane(self.core - 1)

    def key_down(self) -> None:
        self._choose_lane(self.core + 1)

    def on_mouse_scroll_up(self, _event: events.MouseScrollUp) -> None:
        self.zoom(1)

    def on_mouse_scroll_down(self, _event: events.MouseScrollDown) -> None:
        self.zoom(-1)

    def on_click(self, event: events.Click) -> None:
        row = event.y - (0 if self.tabbed else 1) - self._top
        if self._timeline is not None and 0 <= row < len(self._timeline.lanes) * self._lane_rows:
            self.core = row // self._lane_rows
            self._look(self.view.pointed((event.x - _GUTTER + 0.5) / self._room))

    def _look(self, view: View) -> None:
        self.view = view
        self.redraw()

    def _choose_lane(self, index: int) -> None:
        lanes = len(self._timeline.lanes) if self._timeline else 1
        self.core = max(0, min(lanes - 1, index))
        self.redraw()

    # Drawing ----------------------------------------------------------------------------------------------------

    def note(self) -> Line:
        shown = self._timeline
        if self.snapshot is None or shown is None:
            return ()
        kind = "decode step" if shown.phase == _PHASES[StepChoice.DECODE] else "prefill batch"
        tokens = f"{grouped(shown.tokens)} token{'' if shown.tokens == 1 else 's'}"
        return line(Span(f"{kind} {grouped(shown.step)}, {tokens}, {self.origin}", Ink.DIM))

    def headline(self) -> Line:
        shown = self._timeline
        if self.snapshot is None or shown is None:
            return ()
        zoom = f"{2**self.view.zoom}x  " if self.view.zoom else ""
        took = time_of_cycles(shown.cycles, self._hertz).strip()
        shared = shown.overlap
        overlap = (Span("overlap ", Ink.DIM), f"{percent(shared.overlap).strip()}  ") if shared else ()
        return line(*overlap, Span(zoom, Ink.ACCENT), si(shown.cycles).strip(), Span(" cycles  ", Ink.DIM), took)

    def figure(self) -> str:
        return percent(self._timeline.busy).strip() if self.snapshot and self._timeline else ""

    @property
    def _hertz(self) -> int:
        return self.snapshot.hello.counter_hz if self.snapshot and self.snapshot.hello else 0

    def body(self, snapshot: Snapshot, cells: int, rows: int) -> Sequence[Line]:
        shown = self._timeline
        if shown is None or not shown.lanes:
            return [line(Span(f" {_why_empty(snapshot)}", Ink.DIM))]
        drawing = (self._trace, self.view, self.core, cells, rows, self.tabbed, self._hertz)
        if drawing != self._drawn_of:
            self._drawn_of, self._body = drawing, self._draw(shown, cells, rows)
        return self._body

    def _draw(self, shown: Timeline, cells: int, rows: int) -> Sequence[Line]:
        """The lanes, and around them as much of the rest as there is room for, the least needed last."""
        import numpy as np  # noqa: PLC0415  it would delay the first paint

        lanes = shown.lanes[: max(1, rows)]
        self.core = min(self.core, len(lanes) - 1)
        self._room = room = max(1, cells - _GUTTER - 1)
        ends = (self.view.begin * shown.cycles, (self.view.begin + self.view.span) * shown.cycles, shown.cycles)
        edges = np.linspace(ends[0], ends[1], room + 1)
        names = [one.names(edges) for one in lanes]
        cursor = self.view.cell(room)
        parts = {
            "heading": [spread((Span(" "), *self.note()), (*self.headline(), Span(" ")), cells)] if self.tabbed else [],
            "time": [_axis("time", axis(*ends, room, SECONDS, per=self._hertz))] if self._hertz else [],
            "cycles": [_axis("cycles", axis(*ends, room, COUNTS))],
            "cursor": [line(" " * (_GUTTER + cursor), Span("▲", Ink.ACCENT))],
            "detail": [
                self._detail(lanes[self.core], names[self.core][cursor], edges[cursor], edges[cursor + 1], cells)
            ],
            "legend": [line(" " * (_GUTTER - 1), *legend(sorted({name for row in names for name in row})))],
        }
        left = rows - len(lanes)
        for part in ("detail", "cycles", "cursor", "heading", "time", "legend"):
            parts[part] = parts[part][: max(0, left)]
            left -= len(parts[part])
        self._lane_rows = 1 + max(0, min(_LANE_ROWS_MAX - 1, left // len(lanes)))
        above = [*parts["heading"], *parts["time"], *parts["cycles"]]
        self._top = len(above)
        drawn = []
        for index, one in enumerate(lanes):
            gutter = _gutter(one, chosen=index == self.core)
            drawn += [(*gutter, *lane(names[index], labels=True))]
            drawn += [line(" " * _GUTTER, *lane(names[index], labels=False))] * (self._lane_rows - 1)
        return [*above, *drawn, *parts["cursor"], *parts["detail"], *parts["legend"]]

    def _detail(self, one: Lane, kernel: str, begin: float, end: float, cells: int) -> Line:
        """What is under the cursor; the time goes first where room is short."""
        moment: Moment | None = one.moment(kernel, begin, end) if kernel else None
        title = Span(f" {one.title:<{_GUTTER - 1}}", Ink.DIM)
        if moment is None:
            return line(title, Span("between kernels", Ink.DIM))
        where = "" if moment.layer is None else f"layer {moment.layer}"
        took = time_of_cycles(moment.cycles, self._hertz)
        return line(
            title,
            Span(f"{moment.kernel:<15} ", Ink.STRONG),
            Span(f"{where:<8}", Ink.DIM),
            f"{grouped(moment.cycles):>11}",
            Span(" cycles ", Ink.DIM),
            f"{took}  " if cells >= _DETAIL_CELLS else "",
            Span(f"{moment.about} ", Ink.DIM),
            moment.figure,
        )


def _axis(name: str, numbers: Line) -> Line:
    return line(Span(f" {name:<{_GUTTER - 1}}", Ink.DIM), *numbers)


def _gutter(one: Lane, *, chosen: bool) -> Line:
    """`▸ 0 98.4 % `: which core, or the NPU, and how much of the step it was busy."""
    mark = Span("▸" if chosen else " ", Ink.ACCENT)
    return line(mark, Span(f"{one.name:<3}", Ink.STRONG if chosen else Ink.DIM), f"{percent(one.busy)} ")


def _why_empty(snapshot: Snapshot) -> str:
    """In one line."""
    if snapshot.events:
        return "no step is over yet"
    if snapshot.kernels.cells():
        return "this board sends totals alone: a UART has no room for single events"
    return "nothing has run yet"
