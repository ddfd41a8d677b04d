# SPDX-License-Identifier: Apache-2.0
"""Progress on stderr: a live bar on a terminal, a line now and then elsewhere, nothing when silenced."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from maxconsole.cli.shell import say
from maxconsole.cli.style import duration

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Seconds between two lines about the same stage where there is no terminal.
_LINE_INTERVAL = 10.0
#: A stage that is over sooner than this is not worth a line.
_WORTH_A_LINE = 0.5


class Reporter(Protocol):
    """A session's progress callback that can be closed before other output."""

    def __call__(self, stage: str, done: int, total: int, detail: str = "") -> None:
        """`done` of `total` units of `stage` are done; `total` 0 means that nobody knows how many there are."""
        ...

    def clear(self) -> None:
        """Takes the bar off the screen; a later call brings it back."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


def reporter(*, silent: bool = False) -> Reporter:
    """The kind that fits stderr."""
    if silent:
        return _Silent()
    return _Bars() if sys.stderr.isatty() else _Lines()


class _Silent:
    def __call__(self, stage: str, done: int, total: int, detail: str = "") -> None:
        """Says nothing."""

    def clear(self) -> None:
        """Has nothing to clear."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.clear()


class _Lines(_Silent):
    """`stage: detail` when a stage starts to take time, and how long it took."""

    def __init__(self) -> None:
        self._stage = ""
        self._started = self._last = 0.0

    def __call__(self, stage: str, done: int, total: int, detail: str = "") -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._started, self._last = stage, now, now
        if total and done >= total:
            if now - self._started >= _WORTH_A_LINE:
                say(f"{stage}: done in {duration(now - self._started)}")
            self._stage = ""
        elif now - self._last >= _LINE_INTERVAL:
            self._last = now
            share = f" {100 * done // total} %" if total else ""
            say(f"{stage}:{share} {detail}".rstrip())


class _Bars(_Silent):
    """One line for the stage that runs."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int, detail: str = "") -> None:
        if total and done >= total:
            if stage == self._stage:
                self.clear()
            return
        progress = self._progress or self._start()
        if self._task is None or stage != self._stage:
            if self._task is not None:
                progress.remove_task(self._task)
            self._stage = stage
            self._task = progress.add_task(stage, total=total or None, detail=detail)
        progress.update(self._task, completed=done, total=total or None, detail=detail)

    def clear(self) -> None:
        if self._progress is not None:
            self._progress.stop()
        self._progress = None
        self._task = None
        self._stage = ""

    def _start(self) -> Progress:
        from rich.console import Console  # noqa: PLC0415  (only needed on a terminal)
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn  # noqa: PLC0415

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TaskProgressColumn(markup=True),
            TextColumn("{task.fields[detail]}", markup=False),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self._progress.start()
        return self._progress
