# SPDX-License-Identifier: Apache-2.0
"""The terminal user interface, the only part of the console that imports Textual."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from maxconsole.tui.seam import Choice

__all__ = ["Choice", "has_terminal", "replay", "run", "tour"]


def has_terminal() -> bool:
    """Whether there is one to draw on and to type at."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def run(choice: Choice) -> int:
    """Opens the console on the terminal, and returns the process's exit code when the user leaves it.

    Nothing is left behind: the board is released whatever ends the console. Raises UserError where stdin, stdout and
    stderr are not all a terminal.
    """
    gc.disable()  # until the first screen stands: a tenth of its time would go into collecting nothing
    from maxconsole.tui.run import run_console  # noqa: PLC0415  Textual is only loaded by those who open the console

    return run_console(choice)


def replay(path: Path, choice: Choice, *, speed: float = 1.0, paused: bool = False) -> int:
    """The same with the recording at `path` in place of a board; F5 starts the board of `choice` after all.

    Raises UserError also for a file that is no recording.
    """
    from maxconsole.tui.run import run_replay  # noqa: PLC0415  Textual is only loaded by those who open the console

    return run_replay(path, choice, speed=speed, paused=paused)


def tour(
    choice: Choice,
    questions: tuple[str, str],
    recording: Path | None = None,
    *,
    max_tokens: int = 32,
    speed: float = 1.0,
) -> int:
    """The console with a guided demo: it starts the board of `choice` and asks two questions, greedily.

    With a `recording` it plays that instead, `speed` times faster, and needs no board. The console stays open for the
    user when the tour is over. Raises UserError as `run` and `replay` do.
    """
    from maxconsole.tui.run import run_tour  # noqa: PLC0415  Textual is only loaded by those who open the console

    return run_tour(choice, questions, recording, max_tokens=max_tokens, speed=speed)
