# SPDX-License-Identifier: Apache-2.0
"""Errors that are the user's to mend: shown as a plain message, never as a traceback."""

from __future__ import annotations


class UserError(Exception):
    """What went wrong, in plain words, and what to do next.

    `exit_code` is what the command line returns: 1 bad input, 2 usage (the parser's own),
    3 a tool is missing or too old, 4 the board failed, 5 it does not fit.
    """

    def __init__(self, what: str, *, hint: str = "", exit_code: int = 1) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.what}\n  {self.hint}" if self.hint else self.what


class ToolMissing(UserError):
    """A program that the job needs is not installed or is too old."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what, hint=hint, exit_code=3)


class BoardError(UserError):
    """The board, or the process that stands in for it, failed or stopped answering."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what, hint=hint, exit_code=4)


class DoesNotFit(UserError):
    """The model, with the context asked for, is larger than the board's memory."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what, hint=hint, exit_code=5)
