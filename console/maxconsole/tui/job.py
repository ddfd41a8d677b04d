# SPDX-License-Identifier: Apache-2.0
"""Work that takes seconds or minutes: its stages, how far they are, how long they will take, and how to stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from maxconsole.errors import UserError

#: A stage says how long it will take once this share of it is done and this many seconds have passed.
_GUESS_SHARE: Final = 0.02
_GUESS_SECONDS: Final = 1.0


class StoppedError(UserError):
    """The user stopped the work."""

    def __init__(self) -> None:
        super().__init__("stopped")


class Outcome(StrEnum):
    """How the work stands."""

    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def over(self) -> bool:
        return self not in {Outcome.RUNNING, Outcome.STOPPING}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage; `total` 0 means that nobody knows how much there is to do. Times are seconds of the job's clock."""

    name: str
    done: int = 0
    total: int = 0
    detail: str = ""
    began: float = 0.0
    ended: float | None = None

    @property
    def share(self) -> float | None:
        """0..1, or None where it is not known."""
        if self.ended is not None:
            return 1.0
        return min(1.0, self.done / self.total) if self.total else None

    def elapsed(self, now: float) -> float:
        return (now if self.ended is None else self.ended) - self.began

    def remaining(self, now: float) -> float | None:
        """Seconds that the rest takes at the rate so far; None while that would be a wild guess."""
        share, elapsed = self.share, self.elapsed(now)
        if self.ended is not None or share is None or share < _GUESS_SHARE or elapsed < _GUESS_SECONDS:
            return None
        return elapsed * (1 - share) / share


@dataclass(frozen=True, slots=True)
class JobView:
    """A job at one moment."""

    title: str
    outcome: Outcome
    stages: tuple[Stage, ...]
    error: Exception | None
    elapsed: float
    expected: tuple[str, ...] = ()  # stages that most likely come, in order

    @property
    def ahead(self) -> tuple[str, ...]:
        """Expected stages that have not begun; those that were passed over count as done."""
        begun = [stage.name for stage in self.stages]
        last = max((self.expected.index(name) for name in begun if name in self.expected), default=-1)
        return () if self.outcome.over else self.expected[last + 1 :]


class Job:
    """Runs `work` on a thread of its own. `work` is given a progress callback that raises StoppedError once stopped."""

    def __init__(
        self,
        title: str,
        work: Callable[[Job], None],
        *,
        expected: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock()
        self._view = JobView(title, Outcome.RUNNING, (), None, 0.0, expected)
        self._thread = threading.Thread(target=self._run, args=(work,), name="maxconsole-job", daemon=True)
        self._thread.start()

    def view(self) -> JobView:
        """How it stands now."""
        with self._lock:
            view = self._view
        return view if view.outcome.over else replace(view, elapsed=self._clock() - self._began)

    def stop(self) -> None:
        """Asks it to end; it does at its next sign of progress."""
        with self._lock:
            if self._view.outcome is Outcome.RUNNING:
                self._view = replace(self._view, outcome=Outcome.STOPPING)

    def join(self, timeout: float | None = None) -> bool:
        """Waits for the end; False when `timeout` seconds were not enough."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def progress(self, stage: str, done: int, total: int, detail: str = "", /) -> None:
        """Takes note of progress. Raises StoppedError when the job is to stop."""
        now = self._clock() - self._began
        with self._lock:
            if self._view.outcome is Outcome.STOPPING:
                raise StoppedError
            stages = list(self._view.stages)
            if not stages or stages[-1].name != stage:
                if stages:
                    stages[-1] = _closed(stages[-1], now)
                stages.append(Stage(stage, began=now))
            ended = now if total and done >= total else None
            stages[-1] = replace(stages[-1], done=done, total=total, detail=detail, ended=ended)
            self._view = replace(self._view, stages=tuple(stages))

    def _run(self, work: Callable[[Job], None]) -> None:
        error: Exception | None = None
        try:
            work(self)
        except Exception as failure:  # whatever it is, the screen must show it
            error = failure
        now = self._clock() - self._began
        with self._lock:
            stopped = error is not None and self._view.outcome is Outcome.STOPPING
            outcome = Outcome.DONE if error is None else Outcome.STOPPED if stopped else Outcome.FAILED
            stages = tuple(_closed(one, now) for one in self._view.stages) if error is None else self._view.stages
            self._view = replace(self._view, outcome=outcome, error=error, stages=stages, elapsed=now)


def _closed(stage: Stage, now: float) -> Stage:
    return stage if stage.ended is not None else replace(stage, ended=now)
