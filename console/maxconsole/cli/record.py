# SPDX-License-Identifier: Apache-2.0
"""`maxconsole record`: `ask` with everything that the link carries kept in a file."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from maxconsole.cli import options
from maxconsole.cli.ask import ask

app = options.verb()


def record(**asked: Any) -> None:
    """Ask the model on a board, and record all that goes over the link, from the board's first byte on.

    Everything else is as with `ask`.
    """
    ask(**asked)


def _signature() -> inspect.Signature:
    """That of `ask`, with the file as the first argument in place of the option."""
    of_ask = inspect.signature(ask, eval_str=True)
    file = of_ask.parameters["record"].replace(
        annotation=Annotated[Path, typer.Argument(metavar="FILE", help="Where to; `maxconsole replay FILE` plays it.")],
        default=inspect.Parameter.empty,
    )
    others = [parameter for name, parameter in of_ask.parameters.items() if name != file.name]
    return of_ask.replace(parameters=[file, *others])


record.__signature__ = _signature()  # type: ignore[attr-defined]  # what typer makes options and arguments of
app.command(
    epilog='Examples: maxconsole record sky.mcap "Why is the sky blue?"; maxconsole record talk.mcap --chat --greedy;'
    ' maxconsole record sky.mcap "Why?" --force --json'
)(record)
