# SPDX-License-Identifier: Apache-2.0
"""Where output goes: data to stdout, talk to stderr, and nothing breaks when a reader has gone."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any, Final

from maxconsole.cli.style import emphasized
from maxconsole.errors import UserError

EXIT_INTERRUPTED: Final = 130
EXIT_PIPE_CLOSED: Final = 141


def say(message: str) -> None:
    """A line on stderr; a stderr that is gone is nothing to stumble over."""
    try:
        print(message, file=sys.stderr, flush=True)
    except BrokenPipeError:
        _drop(sys.stderr.fileno())


def report(error: UserError) -> None:
    """What went wrong, and what to do about it."""
    say(f"{emphasized('error:', sys.stderr, color=31)} {error.what}")
    if error.hint:
        say(f"  {error.hint}")


def print_lines(lines: Iterable[str]) -> None:
    """Lines of output for people."""
    for line in lines:
        print(line)


def print_json(document: Any) -> None:
    """The one JSON document that a verb writes to stdout."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def drop_stdout() -> None:
    """What is still buffered goes nowhere: or Python would complain about the closed pipe at exit."""
    _drop(sys.stdout.fileno())


def _drop(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
