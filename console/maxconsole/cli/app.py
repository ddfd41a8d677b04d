# SPDX-License-Identifier: Apache-2.0
"""The program's verbs. A verb's module is imported when the verb is used, so that `--help` stays fast."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from maxconsole import __version__, tui
from maxconsole.cli import options, shell
from maxconsole.errors import UserError

#: Verb -> what it does. The verb's module in this package has its name and an `app`.
VERBS: Final = {
    "boards": "List the boards, or show one in full.",
    "model": "Look into model files, pack them, fetch the demo model.",
    "plan": "Say what goes where in a board's memory, or why it does not fit.",
    "build": "Build the firmware.",
    "flash": "Put firmware and weights into a board and verify them.",
    "ask": "Ask the model on a board, and see what each kernel cost.",
    "record": "Ask, and keep everything that the link carries in a file.",
    "replay": "Play a recorded session, without a board.",
    "checkasm": "Compare every kernel with its reference on the board.",
    "inspect": "Take a kernel's machine code apart: loops, ports, registers, stack.",
    "tune": "Find the batch and the cores with which a model runs fastest.",
    "bench": "Measure accuracy and speed of the firmware as it ships.",
    "doctor": "Check that everything needed is there and works.",
    "demo": "See it all in one go: plan, build, flash, two questions.",
}


class Verbs(TyperGroup):
    """The group of all verbs: imports them on demand, and turns what they raise into a message and an exit code."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """All verbs, in the order in which a newcomer needs them."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb's command; only its name and summary while the list of verbs is printed."""
        del ctx
        if cmd_name not in VERBS:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=VERBS[cmd_name])
        command = typer.main.get_command(importlib.import_module(f"maxconsole.cli.{cmd_name}").app)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list of verbs."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def invoke(self, ctx: Any) -> Any:
        """Runs the verb that the command line names."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except UserError as error:
            shell.report(error)
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as error:
            shell.say("interrupted")
            raise typer.Exit(shell.EXIT_INTERRUPTED) from error
        except BrokenPipeError as error:
            shell.drop_stdout()
            raise typer.Exit(shell.EXIT_PIPE_CLOSED) from error
        return result


app = typer.Typer(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None if os.environ.get("NO_COLOR") else "rich",
    epilog="Exit codes: 0 done, 1 bad input, 2 usage, 3 a tool is missing, 4 the board failed, 5 it does not fit, "
    "130 interrupted.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"maxconsole {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def maxconsole(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    board: options.Board = "",
    port: options.Port = None,
    baud: options.Baud = None,
) -> None:
    """Developer console for bare-metal language-model firmware on Arm Cortex-A76, with a virtual board.

    Start with: maxconsole demo. Without a verb the console opens on the terminal; --board and --port are for it.
    """
    del version
    if context.invoked_subcommand is not None:
        if port or baud:
            raise typer.BadParameter("--port and --baud come after the verb")
        return
    if not (tui.has_terminal() or port):
        print(context.get_help())
        return
    from maxconsole.cli.console import run_console  # noqa: PLC0415  (like the verbs: only when it is used)

    raise typer.Exit(run_console(board, port, baud))
