# SPDX-License-Identifier: Apache-2.0
"""What the main screen does for each action of the table: the method `do_AREA_VERB`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeAlias

from textual.screen import Screen

from maxconsole.tui.panes.caches import CachePane
from maxconsole.tui.panes.kernels import KernelPane
from maxconsole.tui.panes.log import LogPane
from maxconsole.tui.panes.ring import RingPane
from maxconsole.tui.panes.timeline import TimelinePane
from maxconsole.tui.seam import ModelCard, Session
from maxconsole.tui.themes import THEMES
from maxconsole.tui.widgets.prompt import Prompt
from maxconsole.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from maxconsole.tui.actions import Where
    from maxconsole.tui.control import Control
    from maxconsole.tui.job import Job
    from maxconsole.tui.screens.settings import Settings
    from maxconsole.tui.tour import Tour

AnyPane: TypeAlias = KernelPane | CachePane | RingPane | LogPane | TimelinePane

_SKIP_SECONDS: Final = 10.0
_SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


class Doings(Screen[None]):
    """Mixed into the main screen, which says what is focused and how it is arranged."""

    control: Control
    zoomed = False
    shown = 0  # the pane that is seen where only one is
    tour: Tour | None = None
    edited: int | None = None  # the turn, a question, that is being edited

    @property
    def where(self) -> Where:
        raise NotImplementedError

    @property
    def panes(self) -> tuple[AnyPane, ...]:
        raise NotImplementedError

    def place(self) -> None:
        raise NotImplementedError

    # Chat -------------------------------------------------------------------------------------------------------

    def do_answer_send(self) -> None:
        prompt = self.query_one(Prompt)
        if self.control.answering:
            self.notify("Esc stops the answer that runs; your text stays in the prompt.", severity="warning")
        elif self.control.session is None:
            self.do_board_start()
        elif prompt.text.strip():
            if self.edited is not None:
                self.control.rewind(self.edited)
                self.edited = None
            self.control.ask(prompt.take())
            self.query_one(Transcript).follow(True)

    def do_answer_stop(self) -> None:
        self.control.stop()

    def do_prompt_new_line(self) -> None:
        self.query_one(Prompt).insert("\n")

    def do_answer_edit_and_resend(self) -> None:
        """The last question; the one before it when that is being edited already; after the first, none."""
        questions = self.control.chat.questions
        earlier = [at for at in questions if self.edited is None or at < self.edited]
        prompt = self.query_one(Prompt)
        if earlier:
            self.edited = earlier[-1]
            prompt.load_text_at_end(self.control.chat.turns[self.edited].text)
        else:
            self.edited = None
            prompt.load_text_at_end("")
        prompt.focus()

    def do_chat_new(self) -> None:
        self.edited = None
        self.control.rewind(0)

    # Board and model --------------------------------------------------------------------------------------------

    def do_board_pick(self) -> None:
        def taken(name: str | None) -> None:
            if name is not None:
                self.control.choice = replace(self.control.choice, board=name)
                self._offer_start()

        self.app.push_screen(self._dialogs.BoardPicker(self.control.workbench, self.control.choice.board), taken)

    def do_model_pick(self) -> None:
        def taken(card: ModelCard | None) -> None:
            if card is not None:
                self.control.choose_model(card)
                self._offer_start()

        self.app.push_screen(self._dialogs.ModelPicker(self.control.workbench, self.control.choice), taken)

    def do_settings_edit(self) -> None:
        control = self.control

        def taken(settings: Settings | None) -> None:
            if settings is not None:
                now = control.choice
                changed = replace(settings.choice, counters=now.counters, route=now.route) != now
                control.generating, control.choice = settings.generating, settings.choice
                if changed:
                    self._offer_start()

        self.app.push_screen(
            self._dialogs.SettingsDialog(control.generating, control.choice, control.workbench.check), taken
        )

    def do_board_start(self) -> None:
        self.edited = None
        self.control.start(self.control.choice)
        self._watch(self.control.starting)

    do_board_restart = do_board_start

    def do_board_verify(self) -> None:
        self._watch(self.control.verify())

    def do_board_release(self) -> None:
        self.control.release()

    def _watch(self, job: Job | None) -> None:
        """Shows a job until it is over."""
        if job is not None:
            self.app.push_screen(self._dialogs.JobScreen(job), lambda _done: self.do_pane_prompt())

    @property
    def _dialogs(self) -> ModuleType:
        from maxconsole.tui.screens import dialogs  # noqa: PLC0415  what is not seen first need not be loaded first

        return dialogs

    def _offer_start(self) -> None:
        verb = "restart" if self.control.session else "start"
        self.notify(
            f"F5 {verb}s with {self.control.model_name} on {self.control.choice.board}.", timeout=4, markup=False
        )

    # Panes ------------------------------------------------------------------------------------------------------

    def do_pane_next(self) -> None:
        self._step(1)

    def do_pane_previous(self) -> None:
        self._step(-1)

    def do_pane_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self.place()

    def do_pane_prompt(self) -> None:
        self.query_one(Prompt).focus()

    def do_pane_kernels(self) -> None:
        self.reveal(0)

    def do_pane_caches(self) -> None:
        self.reveal(1)

    def do_pane_ring(self) -> None:
        self.reveal(2)

    def do_pane_log(self) -> None:
        self.reveal(3)

    def do_pane_timeline(self) -> None:
        self.reveal(4)

    def do_code_show(self) -> None:
        session = self.control.session
        firmware = "" if session is None else session.identity.firmware
        self.app.push_screen(self._dialogs.KernelPicker(self.control.workbench, self.control.choice, firmware))

    def do_kernels_sort(self) -> None:
        self.query_one(KernelPane).next_order()

    def do_kernels_phase(self) -> None:
        self.query_one(KernelPane).next_phase()

    def do_kernels_core(self) -> None:
        self.query_one(KernelPane).next_core()

    def do_caches_phase(self) -> None:
        self.query_one(CachePane).next_phase()

    def do_log_follow(self) -> None:
        self.query_one(LogPane).toggle_follow()

    def do_log_level(self) -> None:
        self.query_one(LogPane).next_level()

    def do_timeline_phase(self) -> None:
        self.query_one(TimelinePane).next_phase()

    def do_timeline_closer(self) -> None:
        self.query_one(TimelinePane).zoom(1)

    def do_timeline_less_close(self) -> None:
        self.query_one(TimelinePane).zoom(-1)

    def do_timeline_later(self) -> None:
        self.query_one(TimelinePane).move(forward=True)

    def do_timeline_earlier(self) -> None:
        self.query_one(TimelinePane).move(forward=False)

    def do_timeline_much_later(self) -> None:
        self.query_one(TimelinePane).move(forward=True, far=True)

    def do_timeline_much_earlier(self) -> None:
        self.query_one(TimelinePane).move(forward=False, far=True)

    def do_timeline_whole(self) -> None:
        self.query_one(TimelinePane).reset()

    def reveal(self, index: int) -> None:
        """Shows a pane and gives it the focus."""
        self.shown = index
        self.place()
        pane = self.panes[index]
        (pane.view if isinstance(pane, LogPane) else pane).focus()

    def _step(self, step: int) -> None:
        stops = [self.query_one(Prompt), *self.panes]
        at = next((i for i, stop in enumerate(stops) if stop.has_focus or stop.has_focus_within), 0)
        target = (at + step) % len(stops)
        if target:
            self.reveal(target - 1)
        else:
            stops[0].focus()

    # Recording and replay ---------------------------------------------------------------------------------------

    def do_recording_start(self) -> None:
        self.control.record()

    def do_recording_stop(self) -> None:
        path = self.control.end_recording()
        if path:
            self.notify(f"maxconsole replay {path}", title="recorded; play it with", markup=False)

    def do_replay_pause(self) -> None:
        player = self.control.player
        if player is not None:
            player.pause(not player.playback().paused)

    def do_replay_faster(self) -> None:
        self._speed(1)

    def do_replay_slower(self) -> None:
        self._speed(-1)

    def do_replay_forward(self) -> None:
        self._skip(_SKIP_SECONDS)

    def do_replay_back(self) -> None:
        self._skip(-_SKIP_SECONDS)

    def do_replay_again(self) -> None:
        self.control.seek(0.0)

    def do_recording_open(self) -> None:
        def taken(session: Session | None) -> None:
            if session is not None:
                self.control.adopt(session)
                self.reveal(0)

        self.app.push_screen(self._dialogs.RecordingPicker(self.control.workbench), taken)

    def _skip(self, seconds: float) -> None:
        player = self.control.player
        if player is not None:
            self.control.seek(player.playback().at + seconds)

    def _speed(self, step: int) -> None:
        player = self.control.player
        if player is not None:
            now = min(_SPEEDS, key=lambda speed: abs(speed - player.playback().speed))
            player.set_speed(_SPEEDS[max(0, min(len(_SPEEDS) - 1, _SPEEDS.index(now) + step))])

    # Guided demo ------------------------------------------------------------------------------------------------

    def type_into_prompt(self, text: str) -> None:
        """As if the user had typed it."""
        self.query_one(Prompt).insert(text)

    def do_tour_end(self) -> None:
        if self.tour is not None:
            self.tour.end()

    # Console ----------------------------------------------------------------------------------------------------

    def do_view_next_theme(self) -> None:
        names = [theme.name for theme in THEMES]
        at = names.index(self.app.theme) if self.app.theme in names else -1
        self.app.theme = names[(at + 1) % len(names)]
        self.notify(self.app.theme, timeout=2)

    def do_view_save_picture(self) -> None:
        try:
            path = self.app.save_screenshot(path=str(Path.cwd()))
        except OSError as error:
            self.notify(f"cannot write here: {error.strerror}", severity="error", markup=False)
            return
        self.notify(path, title="saved", markup=False)

    def do_help_show(self) -> None:
        self.app.push_screen(self._dialogs.HelpScreen(self.where))

    def do_help_commands(self) -> None:
        self.app.action_command_palette()

    def do_console_quit(self) -> None:
        self.app.exit()
