# SPDX-License-Identifier: Apache-2.0
"""A view of many lines that draws only those in sight, follows the newest, and lets text be selected."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from maxconsole.tui.drawing.ink import Line, plain, width
from maxconsole.tui.widgets.inked import Inking


class Scroller(Inking, ScrollView, can_focus=True):
    """Subclasses say how many lines there are and give each of them; lines are wrapped or cut by them."""

    ALLOW_SELECT = True
    following = True

    @property
    def allow_select(self) -> bool:
        return True

    def line_count(self) -> int:
        """Lines in all."""
        raise NotImplementedError

    def line(self, y: int) -> Line:
        """Line `y` of the document, `0 <= y < line_count()`."""
        raise NotImplementedError

    def changed(self) -> None:
        """The document has changed: repaints what is in sight, and goes to the end while following."""
        self.virtual_size = Size(self.scrollable_content_region.width, self.line_count())
        if self.following:
            self._to_end()
        self.refresh()

    def follow(self, following: bool) -> None:
        """Whether to keep the end in sight."""
        self.following = following
        if following:
            self._to_end()

    def _to_end(self) -> None:
        # `force`, because a scroll bar that will be needed is not there yet
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def on_resize(self, _event: events.Resize) -> None:
        self.changed()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.following = new_value >= self.max_scroll_y

    def render_line(self, y: int) -> Strip:
        """The line in sight at row `y`, with the selected part marked."""
        at, cells = round(self.scroll_offset.y) + y, self.size.width
        if at >= self.line_count():
            return Strip.blank(cells, self.base_style)
        spans = self.line(at)
        strip = self.inked(spans, cells)
        selection = self.text_selection
        span = None if selection is None else selection.get_span(at)
        if span is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            strip = _marked(strip, span[0], min(cells, width(spans)) if span[1] == -1 else span[1], style)
        return strip.apply_offsets(0, at)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it stands on the screen."""
        text = "\n".join(plain(self.line(y)) for y in range(self.line_count()))
        return selection.extract(text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh()


def _marked(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """The strip with `style` laid over cells `start..end`."""
    end = min(end, strip.cell_length)
    if start >= end:
        return strip
    before, inside, after = strip.crop(0, start), strip.crop(start, end), strip.crop(end, strip.cell_length)
    return Strip.join([before, _restyled(inside, style), after])


def _restyled(strip: Strip, style: Style) -> Strip:
    return Strip([Segment(segment.text, (segment.style or Style()) + style) for segment in strip], strip.cell_length)
