# SPDX-License-Identifier: Apache-2.0
"""Drives the console by keys in tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.seam import Workbench
from maxconsole.tui.standing import StandingMeter
from maxconsole.tui.themes import DARK

Steps = Callable[[ConsoleApp, Pilot[None]], Awaitable[None]]
_PATIENCE = 20.0

_NAMES = {
    " ": "space",
    "?": "question_mark",
    ",": "comma",
    ".": "full_stop",
    "/": "slash",
    "-": "minus",
    "_": "underscore",
}


def console(desk: Workbench, *, theme: str = DARK) -> ConsoleApp:
    """An app whose clock stands still, so that rates do not flicker."""
    return ConsoleApp(desk, theme=theme, meter=StandingMeter(now=lambda: 0.0))


def drive(desk: Workbench, steps: Steps, *, size: tuple[int, int] = (120, 36)) -> ConsoleApp:
    """Runs `steps` in a console of this size, and leaves it as a user would."""
    app = console(desk)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(app, pilot)

    asyncio.run(run())
    app.control.close()
    return app


async def wait_for(pilot: Pilot[None], condition: Callable[[], bool], patience: float = _PATIENCE) -> None:
    """Lets the console work until `condition` holds, for at most so many seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if condition():
            await pilot.pause()
            return
        await pilot.pause(0.05)
    app = pilot.app
    shown = screen_text(app) if isinstance(app, ConsoleApp) else ""
    raise AssertionError(f"it never came to that; the screen:\n{shown}")


async def type_text(pilot: Pilot[None], text: str) -> None:
    """Key by key."""
    await pilot.press(*(_NAMES.get(char, char) for char in text))


async def start(app: ConsoleApp, pilot: Pilot[None]) -> None:
    """F5, and waits until the board is ready."""
    await pilot.press("f5")
    await wait_for(pilot, lambda: app.control.session is not None and app.screen is app.main)


async def ask(app: ConsoleApp, pilot: Pilot[None], question: str) -> None:
    """Types a question, sends it, and waits for the end of the answer."""
    await type_text(pilot, question)
    await pilot.press("enter")
    await wait_for(pilot, lambda: not app.control.answering)


def screen_text(app: ConsoleApp) -> str:
    """What the user sees, without colors."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


def notices(app: ConsoleApp) -> str:
    """What is shown in toasts."""
    return "\n".join(f"{one.title}: {one.message}" for one in app._notifications)
