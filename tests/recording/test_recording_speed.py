# SPDX-License-Identifier: Apache-2.0
"""How fast large recordings open; prints what it measures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from recording_files import FACTS

from maxconsole.recording import Recorder, Recording, recorder

T = TypeVar("T")
GIGABYTE = 1_000_000_000
READ_BYTES = 4096
#: A day of continuous data, flushed every 250 ms.
DAY_CHUNKS = 24 * 3600 * 4


def timed(what: str, work: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    print(f"{what}: {seconds:.3f} s")
    return result, seconds


def open_both_ways(path: Path) -> None:
    """With the index within a second, and without the end, as after a kill."""
    recording, seconds = timed(f"opened {path.stat().st_size >> 20} MiB", lambda: Recording.open(path))
    with recording:
        assert seconds <= 1
        middle = recording.duration_ns // 2
        first, seconds = timed("first transfer of its middle", lambda: next(recording.transfers(middle)))
        assert first.time_ns >= middle
        assert seconds <= 0.5
    os.truncate(path, path.stat().st_size * 9 // 10)
    recording, _ = timed("opened without its end", lambda: Recording.open(path))
    with recording:
        assert not recording.loss.closed


@pytest.mark.long
def test_a_gigabyte_opens_within_a_second(tmp_path: Path) -> None:
    making = Recorder(tmp_path / "a.mcap", FACTS)
    while making.recorded_bytes < GIGABYTE:
        making.received(os.urandom(READ_BYTES), time.monotonic_ns())
        while making.recorded_bytes - making._written > recorder.BACKLOG_MAX // 2:
            time.sleep(0.01)
    making.close()
    open_both_ways(making.path)


@pytest.mark.long
def test_a_day_of_flushes_opens_within_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FLUSH_PERIOD", 3600.0)
    making = Recorder(tmp_path / "a.mcap", FACTS)
    data = os.urandom(READ_BYTES)
    for _ in range(DAY_CHUNKS):
        making.received(data, time.monotonic_ns())
        making._drain()
    making.close()
    open_both_ways(making.path)
