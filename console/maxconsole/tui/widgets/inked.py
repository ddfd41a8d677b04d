# SPDX-License-Identifier: Apache-2.0
"""A line-API widget that shows inked lines and repaints only those that changed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from maxconsole.tui.drawing.ink import Line, fit, width
from maxconsole.tui.inks import ink_styles


class Inking(Widget):
    """Knows its own background style, which Textual works out anew on every look."""

    _base: Style | None = None

    @property
    def base_style(self) -> Style:
        """The style below all inks."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def notify_style_update(self) -> None:
        """The theme, or what the style sheet says of this widget, has changed."""
        self._base = None
        super().notify_style_update()

    def inked(self, spans: Line, cells: int) -> Strip:
        """The spans in the theme's inks, exactly `cells` wide."""
        spans = fit(spans, cells)
        base, inks = self.base_style, ink_styles(self.app)
        segments = [Segment(span.text, base + inks[span.ink]) for span in spans]
        used = width(spans)
        if used < cells:
            segments.append(Segment(" " * (cells - used), base))
        return Strip(segments, cells)


class Inked(Inking):
    """Base of everything that is drawn as lines. Subclasses say in `lines` what stands in the room they get."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._drawn: Sequence[Line] = ()
        self._drawn_for = (0, 0)

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        """At most `rows` lines, each of at most `cells` cells; longer ones are cut."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draws anew and asks Textual to repaint what differs from what is on the screen."""
        if not self.is_attached or not self.size:
            return
        before, size = self._drawn, tuple(self.size)
        self._drawn = self.lines(self.size.width, self.size.height)
        if size != self._drawn_for:
            self._drawn_for = (self.size.width, self.size.height)
            self.refresh()
            return
        both = range(max(len(before), len(self._drawn)))
        changed = [y for y in both if before[y : y + 1] != self._drawn[y : y + 1]]
        if changed:
            self.refresh(Region(0, changed[0], size[0], changed[-1] - changed[0] + 1))

    def render_line(self, y: int) -> Strip:
        """One line, padded to the widget's width."""
        if self._drawn_for != (self.size.width, self.size.height):
            self._drawn = self.lines(self.size.width, self.size.height)
            self._drawn_for = (self.size.width, self.size.height)
        return self.inked(self._drawn[y] if y < len(self._drawn) else (), self.size.width)

    def on_resize(self, _event: events.Resize) -> None:
        self.redraw()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Some draw themselves otherwise while they have the focus."""
        super().watch_has_focus(has_focus)
        self.redraw()
