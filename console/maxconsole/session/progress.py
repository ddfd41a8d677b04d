# SPDX-License-Identifier: Apache-2.0
"""How a session tells whoever waits how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called often; must return soon. What it raises ends the work."""

    def __call__(self, stage: str, done: int, total: int, detail: str = "", /) -> None:
        """`done` of `total` units of `stage` are done; `total` 0 means that nobody knows how many there are."""
        ...


def silent(stage: str, done: int, total: int, detail: str = "", /) -> None:
    """For those who do not want to know."""
