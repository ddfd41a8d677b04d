# SPDX-License-Identifier: Apache-2.0
"""The Textual application: themes, the screens' stack, and how it is left."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen

from maxconsole.tui.actions import Action, Situation
from maxconsole.tui.control import Control
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.layout import MIN_CELLS, MIN_ROWS, Arrangement, arrangement
from maxconsole.tui.palette import ActionCommands
from maxconsole.tui.screens.main import MainScreen
from maxconsole.tui.seam import Workbench
from maxconsole.tui.standing import StandingMeter
from maxconsole.tui.themes import MONOCHROME, THEMES, initial_theme
from maxconsole.tui.tour import Tour
from maxconsole.tui.widgets.inked import Inked


class ConsoleApp(App[None]):
    """`theme` None takes what the environment asks for; `once_shown` is called when the first screen stands."""

    TITLE = "maxconsole"
    CSS_PATH = Path(__file__).with_name("console.tcss")
    COMMANDS = {ActionCommands}  # noqa: RUF012  Textual declares it so
    COMMAND_PALETTE_BINDING = "ctrl+p"
    #: With priority, because a dialog's bindings would otherwise hide it.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "interrupt", show=False, priority=True)]

    def __init__(
        self,
        workbench: Workbench,
        *,
        theme: str | None = None,
        meter: StandingMeter | None = None,
        once_shown: Callable[[], None] | None = None,
        tour: Tour | None = None,
    ) -> None:
        chosen = theme or initial_theme()
        super().__init__(ansi_color=True if chosen == MONOCHROME and os.environ.get("NO_COLOR") else None)
        self.control = Control(workbench)
        self._meter = meter
        self._once_shown = once_shown
        self._tour = tour
        for one in THEMES:
            self.register_theme(one)
        self.theme = chosen

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables, for themes that do not have them."""
        return dict(THEMES[0].variables)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """None: the palette lists the action table."""
        del screen
        return ()

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(self.control, self._meter, self._tour)

    @property
    def main(self) -> MainScreen:
        """The screen below all others."""
        screen = self.screen_stack[0]
        assert isinstance(screen, MainScreen)
        return screen

    @property
    def situation(self) -> Situation:
        return self.main.situation

    def perform(self, action: Action) -> None:
        """Carries out an action that was found by name."""
        self.main.perform(action)

    def on_mount(self) -> None:
        if self._once_shown is not None:
            self.set_timer(0.2, self._once_shown)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            try:
                loop.add_signal_handler(number, self.exit)
            except (ValueError, RuntimeError):  # not the main thread: whoever runs us there handles signals
                return

    def on_resize(self, event: events.Resize) -> None:
        """Covers everything while the terminal is too small, and goes on as if nothing had been."""
        small = arrangement(*event.size) is Arrangement.TOO_SMALL
        if small and not isinstance(self.screen, TooSmall):
            self.push_screen(TooSmall())
        elif not small and isinstance(self.screen, TooSmall):
            self.pop_screen()

    def action_command_palette(self) -> None:
        """Only over the main screen: in a dialog the table's actions do not apply."""
        if isinstance(self.screen, MainScreen):
            super().action_command_palette()

    async def action_quit(self) -> None:
        self.exit()

    def action_interrupt(self) -> None:
        """Ctrl+C: copies what is selected; leaves where nothing is."""
        selected = getattr(self.focused, "selected_text", "") or self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
            self.notify(f"{len(selected)} characters", title="copied", timeout=2)
        else:
            self.exit()


class _Words(Inked):
    def lines(self, cells: int, rows: int) -> list[Line]:
        del rows
        size = self.app.size
        texts = ("terminal too small", f"{size.width}x{size.height}, needs {MIN_CELLS}x{MIN_ROWS}", "Ctrl+Q quits")
        return [
            line(Span(f"{text:^{cells}}", Ink.WARN if index == 0 else Ink.PLAIN)) for index, text in enumerate(texts)
        ]


class TooSmall(ModalScreen[None]):
    """Stands in for everything; the session goes on behind it."""

    def compose(self) -> ComposeResult:
        yield _Words()
