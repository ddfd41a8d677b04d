# SPDX-License-Identifier: Apache-2.0
"""Jobs: stages, times, failure, and being stopped."""

from __future__ import annotations

import threading

from maxconsole.errors import UserError
from maxconsole.tui.drawing.ink import plain
from maxconsole.tui.job import Job, JobView, Outcome, Stage
from maxconsole.tui.screens.job import stage_lines


def test_a_job_tells_its_stages_and_ends_done() -> None:
    def work(job: Job) -> None:
        job.progress("pack", 1, 2)
        job.progress("pack", 2, 2)
        job.progress("boot", 0, 0)

    job = Job("x", work, expected=("pack", "build", "boot"))
    assert job.join(5)
    view = job.view()
    assert view.outcome is Outcome.DONE
    assert [(stage.name, stage.share) for stage in view.stages] == [("pack", 1.0), ("boot", 1.0)]
    assert view.ahead == ()


def test_stopping_ends_a_job_at_its_next_sign_of_progress() -> None:
    reached, go = threading.Event(), threading.Event()

    def work(job: Job) -> None:
        job.progress("build", 1, 9)
        reached.set()
        assert go.wait(5)
        job.progress("build", 2, 9)
        raise AssertionError("it went on")

    job = Job("x", work)
    assert reached.wait(5)
    job.stop()
    assert job.view().outcome is Outcome.STOPPING
    go.set()
    assert job.join(5)
    assert job.view().outcome is Outcome.STOPPED


def test_a_failure_is_kept_with_the_stage_it_happened_in() -> None:
    def work(job: Job) -> None:
        job.progress("flash", 3, 9)
        raise UserError("no room", hint="make some")

    job = Job("x", work)
    assert job.join(5)
    view = job.view()
    assert view.outcome is Outcome.FAILED
    assert isinstance(view.error, UserError)
    assert "■ flash" in plain(stage_lines(view, 80)[0])


def test_remaining_time_follows_from_the_share_done() -> None:
    assert Stage("pack", 25, 100, began=10.0).remaining(20.0) == 30.0
    assert Stage("pack", 0, 100, began=10.0).remaining(20.0) is None
    assert Stage("boot", 0, 0, began=10.0).remaining(20.0) is None


def test_stages_that_lie_ahead_are_shown() -> None:
    view = JobView("x", Outcome.RUNNING, (Stage("pack", 1, 4),), None, 3.0, ("pack", "build", "flash"))
    assert [plain(line).strip() for line in stage_lines(view, 80)[1:]] == ["· build", "· flash"]
