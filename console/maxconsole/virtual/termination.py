# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGHUP while boards live: they end the program through `finally` and `with`, as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_lock = threading.Lock()
_holders = 0
_installed: list[signal.Signals] = []


def hold() -> None:
    """Turns the signals into SystemExit, until release().

    Only where nobody else handles them, and only when called on the main thread, as Python demands.
    """
    global _holders  # noqa: PLW0603
    with _lock:
        _holders += 1
        if _installed or threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _leave)
                _installed.append(number)


def release() -> None:
    """Ends one hold(). The last one restores what was before."""
    global _holders  # noqa: PLW0603
    with _lock:
        _holders -= 1
        if _holders or threading.current_thread() is not threading.main_thread():
            return
        while _installed:
            number = _installed.pop()
            if signal.getsignal(number) is _leave:
                signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
