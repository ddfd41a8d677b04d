# SPDX-License-Identifier: Apache-2.0
"""The prompt: several lines, a history, and a limit that a paste of a megabyte runs into with a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from maxconsole.link.text import printable
from maxconsole.tui.actions import ACTIONS, Where

#: Characters. The firmware takes 32768 tokens; text of more than this would be refused anyway, but only after minutes.
PROMPT_MAX: Final = 64 * 1024


_KEYS: Final = frozenset(key for action in ACTIONS if action.where is Where.PROMPT for key in action.keys)


class Prompt(TextArea):
    """Grows with its text up to `ROWS_MAX` rows. Up on the first line and Down on the last walk through the history."""

    WHERE = Where.PROMPT
    ROWS_MAX: ClassVar[int] = 8

    @dataclass
    class Refused(Message):
        """A paste was not taken; `reason` says why."""

        reason: str

    def __init__(self, history: Sequence[str], *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(
            id=id,
            placeholder="ask, then Enter",
            soft_wrap=True,
            show_line_numbers=False,
            compact=True,
            highlight_cursor_line=False,
        )
        self.cursor_blink = False  # two repaints a second would be most of what an idle console costs
        self._history = history
        self._back = 0
        self._draft = ""

    def load_text_at_end(self, text: str) -> None:
        """Replaces the text and puts the cursor behind it."""
        self.text = text
        self.move_cursor(self.document.end)

    def take(self) -> str:
        """The text, and an empty prompt in its place."""
        text = self.text
        self._back = 0
        self.load_text_at_end("")
        return text

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        room = PROMPT_MAX - len(self.text)
        if len(event.text) > room:
            self.post_message(self.Refused(_too_long(len(event.text))))
            return
        text = printable(event.text.replace("\r\n", "\n").replace("\r", "\n"), keep="\n\t")
        self.replace(text, *self.selection)

    async def _on_key(self, event: events.Key) -> None:
        if event.key in _KEYS:  # here and not as a binding with priority, which would overtake text still on its way
            event.prevent_default()
            event.stop()
            await self.run_action(f"screen.perform('{Where.PROMPT}', '{event.key}')")
            return
        if event.key in {"up", "down"} and self._walk(-1 if event.key == "up" else 1):
            event.prevent_default()
            event.stop()
            return
        if event.is_printable and len(self.text) >= PROMPT_MAX:
            event.prevent_default()
            event.stop()
            self.post_message(self.Refused(_too_long(len(self.text) + 1)))
            return
        await super()._on_key(event)

    def _walk(self, step: int) -> bool:
        """One entry back or forth, where the cursor stands at the edge that leads there."""
        row, _ = self.cursor_location
        if (step < 0 and row > 0) or (step > 0 and row < self.document.line_count - 1):
            return False
        back = self._back - step
        if not 0 <= back <= len(self._history):
            return True
        if self._back == 0:
            self._draft = self.text
        self._back = back
        self.load_text_at_end(self._history[-back] if back else self._draft)
        return True


def _too_long(length: int) -> str:
    size = f"{length / 1000:.0f} k" if length >= 10_000 else str(length)
    return f"{size} characters are too much for one prompt; it takes {PROMPT_MAX // 1024} Ki. Nothing was pasted."
