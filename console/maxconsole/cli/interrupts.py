# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a board works: the first ends the request in good order, the second ends the program."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from maxconsole.cli.shell import say


@dataclass(slots=True)
class Interrupts:
    """Whether Ctrl-C was pressed."""

    happened: bool = False


@contextlib.contextmanager
def cancelling(cancel: Callable[[], None]) -> Iterator[Interrupts]:
    """Within the block the first Ctrl-C calls `cancel`, and a second one raises KeyboardInterrupt."""
    state = Interrupts()

    def handle(number: int, frame: FrameType | None) -> None:
        if state.happened:
            signal.default_int_handler(number, frame)
        state.happened = True
        cancel()
        say("\nstopping (Ctrl-C again ends at once)")

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield state
    finally:
        signal.signal(signal.SIGINT, before)
