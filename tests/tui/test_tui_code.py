# SPDX-License-Identifier: Apache-2.0
"""The machine code of a kernel, from the list to its last line."""

from __future__ import annotations

from desk import Desk
from driving import drive, notices, screen_text, start, wait_for
from textual.pilot import Pilot

from maxconsole.errors import ToolMissing
from maxconsole.tui.app import ConsoleApp

SMALL = (80, 24)


async def open_list(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await start(app, pilot)
    await pilot.press("f6", "6")
    await wait_for(pilot, lambda: "tile_8" in screen_text(app))


def test_a_kernel_is_opened_read_to_its_end_and_left_by_the_way_one_came() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await open_list(app, pilot)
        assert "68.62" in screen_text(app)
        await pilot.press("enter")
        await wait_for(pilot, lambda: "loop 1" in screen_text(app))
        assert "8400b71c" not in screen_text(app)
        await pilot.press("end")
        await wait_for(pilot, lambda: "8400b71c" in screen_text(app))
        assert all(" 4942" in one for one in screen_text(app).splitlines() if "8400b71c" in one)
        await pilot.press("escape")
        await wait_for(pilot, lambda: "gather" in screen_text(app))
        await pilot.press("escape")
        assert app.screen is app.main

    drive(Desk(), steps, size=SMALL)


def test_only_hot_loops_and_source_lines_are_shown_when_asked_for() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await open_list(app, pilot)
        await pilot.press("enter", "h")
        await wait_for(pilot, lambda: "8400b6a0" in screen_text(app))
        assert "8400b680" not in screen_text(app)
        assert "tile.S:40" not in screen_text(app)
        await pilot.press("s")
        await wait_for(pilot, lambda: "tile.S:40" in screen_text(app))

    drive(Desk(), steps, size=SMALL)


def test_the_palette_knows_the_machine_code() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await pilot.pause(0.3)
        await pilot.press(*"code")
        await wait_for(pilot, lambda: "code: show" in screen_text(app))
        await pilot.press("enter")
        await wait_for(pilot, lambda: "tile_8" in screen_text(app))

    drive(Desk(), steps, size=SMALL)


def test_a_missing_compiler_is_told_and_leads_back() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f6", "6")
        await wait_for(pilot, lambda: "no usable compiler" in notices(app))
        assert app.screen is app.main

    drive(Desk(failure=ToolMissing("no usable compiler for AArch64 was found", hint="install one")), steps)


def test_help_is_read_to_its_end_by_keys() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        await pilot.press("f1")
        await pilot.pause(0.3)
        before = screen_text(app)
        await pilot.press("pagedown")
        await wait_for(pilot, lambda: screen_text(app) != before)

    drive(Desk(), steps, size=SMALL)
