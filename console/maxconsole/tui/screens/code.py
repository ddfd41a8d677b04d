# SPDX-License-Identifier: Apache-2.0
"""Machine code: the list of kernels, and the one that was taken, annotated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from maxconsole.errors import UserError
from maxconsole.tui.drawing.ink import Ink, Line, Span, line
from maxconsole.tui.screens.dialog import Dialog, DialogKeys
from maxconsole.tui.seam import Choice, KernelCode, Workbench
from maxconsole.tui.widgets.details import Details
from maxconsole.tui.widgets.menu import Menu
from maxconsole.tui.widgets.rule import Rule
from maxconsole.tui.widgets.scroller import Scroller

_HEAD: Final = line(
    Span(f"  {'function':<25}{'kernel':<16}{'loop':>5}{'stack':>6}{'bound':>8} by{'% peak':>7}{'share%':>7}", Ink.DIM)
)
_INKS: Final = {
    "head": Ink.TITLE,
    "fact": Ink.PLAIN,
    "source": Ink.ACCENT,
    "cold": Ink.DIM,
    "hot": Ink.PLAIN,
    "stack": Ink.WARN,
}


class KernelPicker(Dialog[None]):
    """All kernels of the firmware; Enter opens one, and leaving it comes back here."""

    def __init__(self, workbench: Workbench, choice: Choice, firmware: str) -> None:
        super().__init__()
        self._workbench = workbench
        self._choice = choice
        self._firmware = firmware
        self._kernels: Sequence[KernelCode] = ()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rule("", "Machine code")
            yield Menu("building the firmware and reading its code …")
            yield Details()
            yield DialogKeys(("↑↓", "move"), ("Enter", "open it"), ("Esc", "back"))

    def on_mount(self) -> None:
        self.query_one(Rule).say(lit=True)
        self.query_one(Menu).show(_HEAD, ())
        self.query_one(Menu).focus()
        self._read()

    @work(thread=True)
    def _read(self) -> None:
        try:
            kernels = self._workbench.kernels(self._choice, self._firmware)
        except UserError as error:
            self.app.call_from_thread(self._fail, error)
            return
        self.app.call_from_thread(self._show, kernels)

    def _fail(self, error: UserError) -> None:
        self.notify(str(error), title="no machine code", severity="error", markup=False)
        self.dismiss(None)

    def _show(self, kernels: Sequence[KernelCode]) -> None:
        self._kernels = kernels
        self.query_one(Menu).show(_HEAD, [_entry(one) for one in kernels], 0)
        self._tell(0)

    def on_menu_moved(self, event: Menu.Moved) -> None:
        self._tell(event.index)

    def on_menu_chosen(self, event: Menu.Chosen) -> None:
        self.app.push_screen(CodeScreen(self._kernels[event.index]))

    def _tell(self, index: int) -> None:
        if index < len(self._kernels):
            one = self._kernels[index]
            facts = (
                ("loop", "instructions of the innermost loop with the most multiply-accumulates"),
                ("stack", "loads and stores of the stack in all innermost loops"),
                ("bound", "cycles that a pass takes at least, by the busiest port of the timing model"),
                ("share", one.measured or "not measured: `maxconsole inspect --measure PROMPT` counts this build"),
            )
            self.query_one(Details).show(one.name, facts)


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


def _entry(one: KernelCode) -> Line:
    loop = str(one.instructions) if one.instructions else "-"
    bound = "-" if one.bound is None else f"{one.bound:.2f}"
    peak = "-" if one.peak is None else f"{100 * one.peak:.1f}"
    share = "-" if one.share is None else f"{100 * one.share:.2f}"
    stack = Span(f"{one.stack or '-':>6}", Ink.WARN if one.stack else Ink.PLAIN)
    start = f"{one.name:<25.24}{one.kernel:<16.15}{loop:>5}"
    return line(start, stack, f"{bound:>8} {one.port[:2]:<2}{peak:>7}{share:>7}")
