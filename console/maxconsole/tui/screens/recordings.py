# SPDX-License-Identifier: Apache-2.0
"""The recording picker: what can be played without a board."""

from __future__ import annotations

from collections.abc import Sequence

from maxconsole.errors import UserError
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.drawing.units import clock
from maxconsole.tui.screens.picker import Facts, Picker
from maxconsole.tui.seam import RecordingCard, Session, Workbench


class RecordingPicker(Picker[Session, RecordingCard]):
    """Gives the replay of the recording that the user takes."""

    TITLE_TEXT = "Play a recording"
    WAITING = "none is in this folder, and none was shipped"
    TAKE = "play it"
    FAILED = "no recordings"
    HEAD = line(Span(f"  {'recording':<34}{'length':>7}  {'board':<20}figures", Ink.DIM))

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench

    def read(self) -> Sequence[RecordingCard]:
        return self._workbench.recordings()

    def entry(self, card: RecordingCard) -> Line:
        return line(f"{card.name:<34.33}{clock(card.seconds):>7}  {card.board:<20.19}{card.badge}")

    def facts(self, card: RecordingCard) -> Facts:
        return card.name, (("model", card.model), *card.details)

    def take(self, card: RecordingCard) -> None:
        try:
            self.dismiss(self._workbench.replay(card.path))
        except UserError as error:
            self.notify(str(error), title="it cannot be played", severity="error", markup=False)
