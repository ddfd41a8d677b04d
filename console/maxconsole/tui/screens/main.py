# SPDX-License-Identifier: Apache-2.0
"""The main screen: chat, panes, bar. Looks at the control ten times a second and draws what has changed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen

from maxconsole.tui.actions import Action, Situation, Where, bindings, on_key
from maxconsole.tui.drawing.ink import Ink, Span, line
from maxconsole.tui.guide import guide, prompt_hint
from maxconsole.tui.layout import Arrangement, arrangement, pane_rows
from maxconsole.tui.panes.caches import CachePane
from maxconsole.tui.panes.kernels import KernelPane
from maxconsole.tui.panes.log import LogPane
from maxconsole.tui.panes.ring import RingPane
from maxconsole.tui.panes.timeline import TimelinePane
from maxconsole.tui.screens.doings import AnyPane, Doings
from maxconsole.tui.standing import StandingMeter
from maxconsole.tui.widgets.caption import CAPTION_ROWS, Caption
from maxconsole.tui.widgets.footer import Keys
from maxconsole.tui.widgets.prompt import Prompt
from maxconsole.tui.widgets.rule import Rule
from maxconsole.tui.widgets.status import StatusBar
from maxconsole.tui.widgets.tabs import Tab, TabStrip
from maxconsole.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot
    from maxconsole.tui.control import Control
    from maxconsole.tui.tour import Tour

_PERIOD: Final = 0.1
_BREATH: Final = 0.012
_BAR_ROWS: Final = 2  # status and keys
_LEAST_PANE: Final = 8


class MainScreen(Doings, Screen[None]):
    """Everything that is shown while nothing else is in front."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.ANYWHERE)
    AUTO_FOCUS = "Prompt"

    def __init__(self, control: Control, meter: StandingMeter | None = None, tour: Tour | None = None) -> None:
        super().__init__()
        self.tour = tour
        self.control = control
        self._meter = meter or StandingMeter()
        self._arrangement = Arrangement.STACKED
        self._snapshot: Snapshot | None = None
        self._behind: list[AnyPane] = []  # panes that do not show it yet
        self._told: tuple[object, ...] = ()  # what the guide depends on, as of its last words
        self._ready = False  # keys may come before the widgets are there

    def compose(self) -> ComposeResult:
        self._arrangement = arrangement(*self.app.size)
        self._set_classes()  # before there are widgets that would all have to be styled again
        yield StatusBar()
        with Container(id="desk"):
            with Vertical(id="talk"):
                yield Rule("", "Chat")
                yield Transcript(self.control.chat)
                yield Prompt(self.control.chat.drafts)
            with Vertical(id="figures"):
                yield TabStrip()
                yield KernelPane()
                yield CachePane()
                yield RingPane()
                yield LogPane()
                yield TimelinePane()
        with Vertical(id="foot"):
            yield Caption()
            yield Keys()

    def on_mount(self) -> None:
        query = self.query_one
        self._panes = (query(KernelPane), query(CachePane), query(RingPane), query(LogPane), query(TimelinePane))
        self._bar, self._keys, self._tabs = query(StatusBar), query(Keys), query(TabStrip)
        self._talk_rule, self._transcript, self._prompt = query("#talk > Rule", Rule), query(Transcript), query(Prompt)
        self._caption = query(Caption)
        self._ready = True
        self.set_interval(_PERIOD, self.look)
        self.place()
        self.look()

    def on_resize(self, _event: events.Resize) -> None:
        self.place()

    # What can be asked about the screen -------------------------------------------------------------------------

    @property
    def panes(self) -> tuple[AnyPane, ...]:
        """The panes, in the order of their numbers."""
        return self._panes

    @property
    def where(self) -> Where:
        """Where the focus is."""
        where = getattr(self.focused, "WHERE", Where.PANES)
        return where if isinstance(where, Where) else Where.PANES

    @property
    def situation(self) -> Situation:
        """What decides which actions apply."""
        session = self.control.session
        return Situation(
            attached=session is not None,
            answering=self.control.answering,
            asked=bool(self.control.chat.questions),
            recording=bool(self.control.recording),
            replaying=session is not None and session.player is not None,
            where=self.where,
            touring=self.tour is not None,
        )

    def action_perform(self, where: str, key: str) -> None:
        """What `key` means in `where` now; a key that means nothing goes on to the widget."""
        action = on_key(Where(where), key, self.situation) if self._ready else None
        if action is None:
            raise SkipAction
        self.perform(action)

    def perform(self, action: Action) -> None:
        """Carries out an action of the table."""
        getattr(self, action.method)()
        self.look()

    # Drawing ----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Takes what is new and draws it."""
        control = self.control
        control.tick()
        self._guide()
        for notice in control.notices():
            self.notify(
                notice.hint or notice.what, title=notice.what if notice.hint else "", severity="error", markup=False
            )
        snapshot = control.snapshot()
        if snapshot != self._snapshot:
            self._snapshot = snapshot
            idle, self._behind = not self._behind, list(self.panes)
            self.query_one(CachePane).limit = control.memory_limit
            if idle:
                self._catch_up()
        self._bar.show(self._meter.read(control, self._snapshot))
        self._transcript.update_chat(edited=self.edited)
        told = (control.state, control.choice, control.model_name, control.session is None)
        if told != self._told:
            self._told = told
            self._transcript.guide(guide(control))
            self._prompt.placeholder = prompt_hint(control)
        self._keys.show(self.situation)
        self._draw_rules()

    def _guide(self) -> None:
        """The guided demo's next words, while there are any and nothing stands in front."""
        if self.tour is not None and self.app.screen is self:
            self.tour.tick(self, time.monotonic())
            self._caption.show(self.tour.caption)
            if self.tour.over:
                self.tour = None
        if self._caption.display != (self.tour is not None):
            self._caption.display = self.tour is not None
            self.place()

    def _catch_up(self) -> None:
        """Draws one pane and puts the next one off for a moment, so that a key never waits for all of them."""
        pane, snapshot = self._behind.pop(0), self._snapshot
        pane.clear() if snapshot is None else pane.show(snapshot)
        if self._behind:
            self.set_timer(_BREATH, self._catch_up)

    def _draw_rules(self) -> None:
        done, total = self.control.prefill or (0, 0)
        words = (
            f"prefill {done} of {total} tokens" if total else "waiting for the board" if self.control.answering else ""
        )
        if self.control.answering and not self.control.prefill:
            words = "answering"
        self._talk_rule.say(
            note=line(Span("editing an earlier question" if self.edited is not None else "", Ink.WARN)),
            headline=line(Span(words, Ink.DIM)),
            lit=self._prompt.has_focus or self._transcript.has_focus,
        )
        if self.tabbed:
            tabs = tuple(Tab(pane.NUMBER, pane.NAME, pane.figure()) for pane in self.panes)
            active = self.panes[self.shown]
            self._tabs.show(tabs, active.NUMBER, lit=active.has_focus or active.has_focus_within)

    # Arrangement ------------------------------------------------------------------------------------------------

    @property
    def tabbed(self) -> bool:
        """Whether only one pane is seen at a time."""
        return self.zoomed or self._arrangement is not Arrangement.TILED

    def place(self) -> None:
        """Gives each part its place for the size of the terminal."""
        cells, rows = self.size
        if not cells or not self._ready:
            return
        self._arrangement = arrangement(cells, rows)
        self._set_classes()
        bars = _BAR_ROWS + (CAPTION_ROWS if self.tour is not None else 0)
        heights = pane_rows(rows - bars, self.shown)
        for index, pane in enumerate(self.panes):
            pane.display = not self.tabbed or index == self.shown
            pane.styles.height = "1fr" if self.tabbed else heights[index]
            pane.set_tabbed(self.tabbed)
        self._tabs.display = self.tabbed
        stacked = not self.zoomed and self._arrangement is not Arrangement.TILED
        self.query_one("#figures").styles.height = max(_LEAST_PANE, (rows - bars) // 2) if stacked else "1fr"
        self._draw_rules()

    def _set_classes(self) -> None:
        self.set_class(self._arrangement is Arrangement.TILED and not self.zoomed, Arrangement.TILED)
        self.set_class(self.zoomed and self.where is not Where.PROMPT, "-zoom-pane")
        self.set_class(self.zoomed and self.where is Where.PROMPT, "-zoom-chat")

    def on_tab_strip_chosen(self, event: TabStrip.Chosen) -> None:
        self.reveal(int(event.number) - 1)

    def on_descendant_focus(self) -> None:
        before = self.shown
        for index, pane in enumerate(self.panes):
            if pane.has_focus or pane.has_focus_within:
                self.shown = index
        if self.tabbed or self.shown != before:
            self.place()
        self._keys.show(self.situation)
        self._draw_rules()

    def on_prompt_refused(self, event: Prompt.Refused) -> None:
        self.notify(event.reason, title="too long", severity="warning")
