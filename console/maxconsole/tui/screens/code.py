# SPDX-License-Identifier: Apache-2.0
"""Machine code: the list of kernels, and the one that was taken, annotated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.screens.picker import Facts, Picker
from maxconsole.tui.seam import Choice, KernelCode, Workbench
from maxconsole.tui.widgets.rule import Rule
from maxconsole.tui.widgets.scroller import Scroller

_INKS: Final = {
    "head": Ink.TITLE,
    "fact": Ink.PLAIN,
    "source": Ink.ACCENT,
    "cold": Ink.DIM,
    "hot": Ink.PLAIN,
    "stack": Ink.WARN,
}


class KernelPicker(Picker[None, KernelCode]):
    """All kernels of the firmware; Enter opens one, and leaving it comes back here."""

    TITLE_TEXT = "Machine code"
    WAITING = "building the firmware and reading its code …"
    TAKE = "open it"
    FAILED = "no machine code"
    HEAD = line(
        Span(
            f"  {'function':<25}{'kernel':<16}{'loop':>5}{'stack':>6}{'bound':>8} by{'% peak':>7}{'share%':>7}", Ink.DIM
        )
    )

    def __init__(self, workbench: Workbench, choice: Choice, firmware: str) -> None:
        super().__init__()
        self._workbench = workbench
        self._choice = choice
        self._firmware = firmware

    def read(self) -> Sequence[KernelCode]:
        return self._workbench.kernels(self._choice, self._firmware)

    def entry(self, card: KernelCode) -> Line:
        loop = str(card.instructions) if card.instructions else "-"
        bound = "-" if card.bound is None else f"{card.bound:.2f}"
        peak = "-" if card.peak is None else f"{100 * card.peak:.1f}"
        share = "-" if card.share is None else f"{100 * card.share:.2f}"
        stack = Span(f"{card.stack or '-':>6}", Ink.WARN if card.stack else Ink.PLAIN)
        start = f"{card.name:<25.24}{card.kernel:<16.15}{loop:>5}"
        return line(start, stack, f"{bound:>8} {card.port[:2]:<2}{peak:>7}{share:>7}")

    def facts(self, card: KernelCode) -> Facts:
        return card.name, (
            ("loop", "instructions of the innermost loop with the most multiply-accumulates"),
            ("stack", "loads and stores of the stack in all innermost loops"),
            ("bound", "cycles that a pass takes at least, by the busiest port of the timing model"),
            ("share", card.measured or "not measured: `maxconsole inspect --measure PROMPT` counts this build"),
        )

    def take(self, card: KernelCode) -> None:
        self.app.push_screen(CodeScreen(card))


class CodeText(Scroller):
    """The annotated code of one function."""

    def __init__(self, kernel: KernelCode) -> None:
        super().__init__()
        self._kernel = kernel
        self._lines: list[Line] = []
        self.following = False

    def read(self, *, hot: bool, source: bool) -> None:
        """Draws it anew."""
        self._lines = [(Span(row.text, _INKS[row.tone]),) for row in self._kernel.text(hot, source)]
        self.changed()

    def line_count(self) -> int:
        return len(self._lines)

    def line(self, y: int) -> Line:
        return self._lines[y]


class CodeScreen(Dialog[None]):
    """One function: loops and their figures, then its instructions."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "hot", show=False),
        Binding("s", "source", show=False),
        Binding("q", "leave", show=False),
    ]

    def __init__(self, kernel: KernelCode) -> None:
        super().__init__()
        self._kernel = kernel
        self._hot = False
        self._source = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rule("", "Machine code")
            yield CodeText(self._kernel)
            yield DialogKeys()

    def on_mount(self) -> None:
        self.query_one(CodeText).focus()
        self._draw()

    def action_hot(self) -> None:
        """All of it, or only innermost loops."""
        self._hot = not self._hot
        self._draw()

    def action_source(self) -> None:
        """With source lines, or without."""
        self._source = not self._source
        self._draw()

    def _draw(self) -> None:
        note = ", ".join(word for word, on in (("hot loops", self._hot), ("source lines", self._source)) if on)
        self.query_one(Rule).say(note=line(Span(note, Ink.DIM)), headline=line(self._kernel.name), lit=True)
        self.query_one(CodeText).read(hot=self._hot, source=self._source)
        self.query_one(DialogKeys).show(
            ("↑↓ PgUp PgDn", "scroll"),
            ("h", "all code" if self._hot else "hot loops only"),
            ("s", "no source" if self._source else "source lines"),
            ("Esc", "back"),
        )
