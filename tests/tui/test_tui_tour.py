# SPDX-License-Identifier: Apache-2.0
"""The guided demo: it presses the right keys, waits for what it speaks of, and can be ended."""

from __future__ import annotations

import asyncio

import pytest
from desk import Desk
from driving import screen_text, wait_for
from recorded import LONG, replayed
from textual.pilot import Pilot

from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.chat import Speaker
from maxconsole.tui.themes import DARK
from maxconsole.tui.tour import Tour, live_tour, recorded_tour


@pytest.fixture(autouse=True)
def quick_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captions need no time to be read here."""
    go = Tour.tick
    monkeypatch.setattr(Tour, "tick", lambda self, stage, now: go(self, stage, now * 1000))


def run(desk: Desk, tour: Tour, steps: object, *, size: tuple[int, int] = (80, 24)) -> ConsoleApp:
    app = ConsoleApp(desk, theme=DARK, tour=tour)

    async def go() -> None:
        async with app.run_test(size=size) as pilot:
            await steps(app, pilot)  # type: ignore[operator]

    asyncio.run(go())
    app.control.close()
    return app


def test_the_live_tour_starts_a_board_and_asks_both_questions() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: app.main.tour is None)
        assert "That was the tour" not in screen_text(app)

    app = run(desk, live_tour(("What is it?", "And why?")), steps)
    assert desk.sessions[0].asked == ["What is it?", "And why?"]
    assert len([turn for turn in app.control.chat.turns if turn.speaker is Speaker.USER]) == 2


def test_the_recorded_tour_needs_no_board() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.control.adopt(replayed(LONG))
        await wait_for(pilot, lambda: app.main.tour is None)

    run(desk, recorded_tour(), steps)
    assert desk.sessions == []


def test_captions_fit_a_small_terminal() -> None:
    for tour in (live_tour(("a", "b")), recorded_tour()):
        assert all(len(f"9/9  {step.caption}") <= 2 * 76 for step in tour._steps)


def test_the_tour_can_be_ended() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: app.control.session is not None and app.screen is app.main)
        await pilot.press("f12")
        await wait_for(pilot, lambda: app.main.tour is None)

    run(Desk(), live_tour(("What is it?", "And why?")), steps)


def test_a_board_that_does_not_start_leaves_the_user_in_the_console() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: "mistake in maxconsole itself" in screen_text(app))
        await pilot.press("escape")
        await pilot.press("f12")
        await wait_for(pilot, lambda: app.main.tour is None)

    run(Desk(failure=ZeroDivisionError()), live_tour(("What is it?", "And why?")), steps)
