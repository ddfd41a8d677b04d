# SPDX-License-Identifier: Apache-2.0
"""Recordings in the console: the same panes, a chat that fills by itself, and controls for time."""

from __future__ import annotations

import re

from desk import Desk
from driving import drive, screen_text, wait_for
from recorded import LONG, SHORT, replayed, snapshots
from textual.pilot import Pilot

from maxconsole.tui.app import ConsoleApp
from maxconsole.tui.chat import Speaker
from maxconsole.tui.panes.kernels import KernelPane
from maxconsole.tui.state import State


def test_a_recording_fills_chat_and_panes_as_the_board_did() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        recording = replayed(LONG)
        app.control.adopt(recording)
        await wait_for(pilot, lambda: len(app.control.chat.turns) == 10)
        questions = [turn.text for turn in app.control.chat.turns if turn.speaker is Speaker.USER]
        assert questions[0] == "What is the capital of Japan?"
        assert all(turn.text and turn.note for turn in app.control.chat.turns[1::2])
        await wait_for(pilot, lambda: app.main.query_one(KernelPane).snapshot is not None)
        assert list(snapshots(LONG))[-1] == app.control.snapshot()
        text = screen_text(app)
        assert "96 of 96 tokens visible" in text
        assert re.fullmatch(r"MODELLED v\d+ fast", recording.identity.badge)
        assert recording.identity.badge in text

    drive(Desk(), steps)


def test_a_recording_is_held_moved_and_played_faster_by_keys() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.control.adopt(replayed(LONG, 30.0))
        player = app.control.player
        assert player is not None
        await wait_for(pilot, lambda: app.control.state is State.PAUSED)
        await pilot.press("f6", "right")
        await wait_for(pilot, lambda: 39.5 <= player.playback().at <= 40.5)
        bytes_then = app.control.session.snapshot().link.bytes if app.control.session else 0
        await pilot.press("left", "left")
        await wait_for(pilot, lambda: 19.5 <= player.playback().at <= 20.5)
        await wait_for(pilot, lambda: len(app.control.chat.turns) >= 2)
        questions = [turn.text for turn in app.control.chat.turns if turn.speaker is Speaker.USER]
        assert questions[0] == "What is the capital of Japan?"
        assert len(questions) == len(set(questions))
        assert app.control.session is not None
        assert app.control.session.snapshot().link.bytes < bytes_then
        player.set_speed(1.0)
        await pilot.press("f10", "f10")
        assert player.playback().speed == 4.0
        await pilot.press("shift+f10", "f9")
        assert player.playback().speed == 2.0
        assert not player.playback().paused

    drive(Desk(), steps)


def test_a_board_can_be_started_from_a_recording() -> None:
    desk = Desk()

    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.control.adopt(replayed(SHORT))
        await wait_for(pilot, lambda: bool(app.control.chat.turns))
        assert "F5 starts a board" in screen_text(app)
        await pilot.press("f5")
        await wait_for(pilot, lambda: app.control.session in desk.sessions and app.screen is app.main)
        assert app.control.chat.turns == []

    drive(desk, steps)


def test_nothing_can_be_asked_of_a_recording() -> None:
    async def steps(app: ConsoleApp, pilot: Pilot[None]) -> None:
        app.control.adopt(replayed(SHORT))
        await wait_for(pilot, lambda: bool(app.control.chat.turns))
        await pilot.press("a", "enter")
        await pilot.pause(0.3)
        assert app.control.session is not None
        assert len(app.control.chat.turns) == 2
        assert not app.control.answering

    drive(Desk(), steps)
