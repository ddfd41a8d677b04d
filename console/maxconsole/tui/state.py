# SPDX-License-Identifier: Apache-2.0
"""What the console is doing with its board."""

from __future__ import annotations

from enum import Enum

from maxconsole.tui.drawing.ink import Ink


class State(Enum):
    """A shape, a word and an ink."""

    NONE = ("○", "no board", Ink.DIM)
    STARTING = ("◐", "starting", Ink.WARN)
    READY = ("●", "ready", Ink.GOOD)
    ANSWERING = ("▶", "answering", Ink.ACCENT)
    STOPPING = ("◑", "stopping", Ink.WARN)
    PAUSED = ("║", "paused", Ink.WARN)
    FAILED = ("■", "failed", Ink.BAD)
