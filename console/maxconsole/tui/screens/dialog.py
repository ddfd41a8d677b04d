# SPDX-License-Identifier: Apache-2.0
"""What pickers, settings, jobs and help have in common: a frame over the main screen, Escape leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from maxconsole.tui.drawing.ink import Line
from maxconsole.tui.widgets.footer import key_line
from maxconsole.tui.widgets.inked import Inked

T = TypeVar("T")


class DialogKeys(Inked):
    """The keys of a dialog, in its last line."""

    DEFAULT_CSS = "DialogKeys { height: 1; dock: bottom; }"

    def __init__(self, *keys: tuple[str, str]) -> None:
        super().__init__()
        self._keys = keys

    def show(self, *keys: tuple[str, str]) -> None:
        """Other keys count now."""
        self._keys = keys
        self.redraw()

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        del rows
        return [key_line(self._keys, cells)]


class Dialog(ModalScreen[T | None], Generic[T]):
    """Dismissed with a result, or with None when the user leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    def action_leave(self) -> None:
        self.dismiss(None)
