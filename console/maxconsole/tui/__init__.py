# SPDX-License-Identifier: Apache-2.0
"""The terminal user interface, the only part of the console that imports Textual."""

from __future__ import annotations

from maxconsole.tui.seam import Choice

__all__ = ["Choice", "run"]


def run(choice: Choice) -> int:
    """Opens the console on the terminal, and returns the process's exit code when the user leaves it.

    Nothing is left behind: the board is released whatever ends the console. Raises UserError where stdin and stdout
    are no terminal.
    """
    from maxconsole.tui.run import run_console  # noqa: PLC0415  Textual is only loaded by those who open the console

    return run_console(choice)
