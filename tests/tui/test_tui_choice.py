# SPDX-License-Identifier: Apache-2.0
"""What the console chooses where the user has not."""

from __future__ import annotations

from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.schema import wire
from maxconsole.session.setup import Setup
from maxconsole.tui.seam import Choice


def test_the_consoles_defaults_are_those_of_the_command_line() -> None:
    choice, setup = Choice(), Setup()
    assert (choice.context, choice.batch) == (DEFAULT_CONTEXT, DEFAULT_BATCH) == (setup.context, setup.batch)
    assert choice.route == setup.route
    assert choice.route.int8_tokens == wire.INT8_TOKENS
    assert (choice.timing, choice.cores) == (setup.timing, setup.cores)
