# SPDX-License-Identifier: Apache-2.0
"""The frame of every pane: a rule with its number, name and key figure, heavy while the pane has the focus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from maxconsole.tui.actions import Where
from maxconsole.tui.drawing.ink import Ink, Line, Span, line, spread
from maxconsole.tui.widgets.inked import Inked

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot


#: wire.HelloFlag.MODELLED; importing the schema would load numpy before the first paint.
_MODELLED: Final = 1
_NO_BOARD: Final = line(Span(" no board is connected", Ink.DIM))


class Pane(Inked, can_focus=True):
    """Draws a Snapshot and nothing else. Subclasses give `body` and the two ends of the rule."""

    WHERE: ClassVar[Where]
    NUMBER: ClassVar[str]
    NAME: ClassVar[str]

    snapshot: Snapshot | None = None
    tabbed = False  # a tab strip stands for the rule

    def set_tabbed(self, tabbed: bool) -> None:
        """Whether a tab strip stands for the rule."""
        self.tabbed = tabbed
        self.redraw()

    def show(self, snapshot: Snapshot) -> None:
        """Draws `snapshot`."""
        self.snapshot = snapshot
        self.digest(snapshot)
        self.redraw()

    def clear(self) -> None:
        """Forgets the board that was shown."""
        self.snapshot = None
        self.redraw()

    @property
    def origin(self) -> str:
        """Where cycles and misses come from, as the board itself says."""
        hello = self.snapshot.hello if self.snapshot else None
        return "unknown origin" if hello is None else "modelled" if hello.flags & _MODELLED else "measured"

    def digest(self, snapshot: Snapshot) -> None:
        """Hook for panes that keep something from one Snapshot to the next."""

    def note(self) -> Line:
        """What stands beside the name."""
        return ()

    def headline(self) -> Line:
        """The pane's key figure, at the right end of its rule."""
        return ()

    def body(self, snapshot: Snapshot, cells: int, rows: int) -> Sequence[Line]:
        """The lines below the rule."""
        raise NotImplementedError

    def figure(self) -> str:
        """The key figure in few characters, for the tab strip of small screens."""
        return ""

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        if self.tabbed:
            return self.body(self.snapshot, cells, rows)[:rows] if self.snapshot else [_NO_BOARD]
        top = title_rule(self.NUMBER, self.NAME, self.note(), self.headline(), cells, focused=self.has_focus)
        if self.snapshot is None:
            return [top, _NO_BOARD][:rows]
        return [top, *self.body(self.snapshot, cells, rows - 1)][:rows]


def title_rule(number: str, name: str, note: Line, headline: Line, cells: int, *, focused: bool) -> Line:
    """`━ 1 Kernels ━ decode ━━━━━ 3.4 Gcyc ━`; the thin form where the focus is elsewhere."""
    dash = "━" if focused else "─"
    ink = Ink.ACCENT if focused else Ink.LINE
    left = line(Span(f"{dash} ", ink), Span(f"{number} " if number else "", Ink.KEY), Span(name, Ink.TITLE))
    if note:
        left = (*left, Span(f" {dash} ", ink), *note)
    left = (*left, Span(" "))
    right = (Span(" "), *headline, Span(f" {dash}", ink)) if headline else ()
    return spread(left, right, cells, Span(dash, ink))
