# SPDX-License-Identifier: Apache-2.0
"""The whole way by keys on the real firmware: pick, build, flash, ask, stop, ask again, edit, record, quit."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import drive, screen_text, type_text, wait_for
from textual.pilot import Pilot

from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.lazy import LazyWorkbench
from maxconsole.tui.panes.kernels import KernelPane
from maxconsole.tui.seam import Choice, Generating
from maxconsole.tui.widgets.prompt import Prompt

_BOOT = 240.0
_ANSWER = 120.0
_BUS_ACCESS_RD = 0x60


@pytest.mark.system
def test_the_whole_way_on_the_virtual_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        control = app.control
        control.generating = Generating(temperature=0.0, top_k=1, repeat_penalty=1.0, max_new=12)
        await pilot.press("f2")
        await wait_for(pilot, lambda: "rpi5-virtual" in screen_text(app))
        await pilot.press("enter", "f3")
        await wait_for(pilot, lambda: "fits" in screen_text(app))
        await pilot.press("enter", "f5")
        await wait_for(pilot, lambda: control.session is not None and app.screen is app.main, _BOOT)

        await pilot.press("f8")
        await type_text(pilot, "What is the capital of Japan?")
        await pilot.press("enter")
        await wait_for(pilot, lambda: not control.answering, _ANSWER)
        assert "Tokyo" in control.chat.turns[1].text
        kernels = app.main.query_one(KernelPane)
        await wait_for(pilot, lambda: "linear_down" in screen_text(app))
        assert kernels.snapshot is not None
        assert kernels.snapshot.tokens == control.snapshot().tokens  # type: ignore[union-attr]

        control.generating = Generating(temperature=0.0, top_k=1, max_new=200)
        await type_text(pilot, "Tell me a long story.")
        await pilot.press("enter")
        await wait_for(pilot, lambda: len(control.chat.turns[-1].text.split()) > 2, _ANSWER)
        await pilot.press("escape")
        await wait_for(pilot, lambda: not control.answering, _ANSWER)
        assert control.chat.turns[-1].note.endswith("stopped")

        await pilot.press("f4")
        await pilot.pause()
        app.screen.query_one("#counters").focus()
        await pilot.press("space", "ctrl+s")
        await wait_for(pilot, lambda: _BUS_ACCESS_RD in control.snapshot().hello.counter_events)  # type: ignore[union-attr]

        control.generating = Generating(temperature=0.0, top_k=1, repeat_penalty=1.0, max_new=8)
        await pilot.press("ctrl+r", "ctrl+r")
        assert app.main.query_one(Prompt).text == "What is the capital of Japan?"
        await pilot.press("enter")
        await wait_for(pilot, lambda: not control.answering, _ANSWER)
        assert len(control.chat.turns) == 2
        assert "Tokyo" in control.chat.turns[1].text
        await pilot.press("f8")
        await wait_for(pilot, lambda: control.recording == "")

    drive(LazyWorkbench(Choice("", None, 256, 64)), steps)
    recordings = list(tmp_path.glob("aimax395-virtual-*.mcap"))
    assert len(recordings) == 1
    replayed = LazyWorkbench(Choice()).replay(str(recordings[0]))
    replayed.close()
