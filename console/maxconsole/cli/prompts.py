# SPDX-License-Identifier: Apache-2.0
"""Where prompts come from: the command line, a file, stdin, or a person who types."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from maxconsole.errors import UserError

_STDIN = "-"
_MAX_BYTES = 4 << 20  # far more than any context holds


def prompt_text(prompt: str | None, file: str | None, *, chat: bool) -> str | None:
    """The prompt, with the file's text after it. None is possible only for a chat, which then asks for it.

    Raises UserError for a file that cannot be read or is no text, and where there is no prompt at all.
    """
    if file is None and prompt is None and not chat and not sys.stdin.isatty():
        file = _STDIN
    if file == _STDIN and chat:
        raise UserError("--chat reads its turns from stdin, so --file cannot", hint="name a file")
    added = None if file is None else read_text(file)
    text = "\n\n".join(part for part in (prompt, added) if part)
    if not text.strip():
        if chat:
            return None
        raise UserError("there is no prompt", hint='give it as an argument, with --file, or on stdin: ask "Hello"')
    return text


def turns(first: str | None) -> Iterator[str]:
    """What the user says, turn by turn: `first`, then lines of stdin without the empty ones."""
    if first is not None:
        yield first
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    while True:
        try:
            line = input("> ") if interactive else sys.stdin.readline()
        except EOFError:
            print()
            return
        if not interactive and not line:
            return
        if line.strip():
            yield line.rstrip("\n")


def read_text(file: str) -> str:
    """The text of a file, or of stdin for "-". Raises UserError for what cannot be read, is too long or no UTF-8."""
    try:
        if file == _STDIN:
            data = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with Path(file).expanduser().open("rb") as source:
                data = source.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise UserError(f"{file} is longer than {_MAX_BYTES >> 20} MiB, more than any context holds")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}") from error
