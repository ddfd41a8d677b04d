# SPDX-License-Identifier: Apache-2.0
"""Making recordings: what is in the file, what a kill costs, and what happens when the disk does not play along."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mcap.reader import make_reader
from recording_files import ASKED, FACTS, RECEIVED, SENT, WALL_NS, contents, record

from maxconsole import __version__
from maxconsole.errors import UserError
from maxconsole.recording import Recorder, Recording, check_target, recorder


def test_everything_comes_back_in_order_with_its_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mcap"
    events = [(SENT, 10, b"query"), (RECEIVED, 1_000, bytes(range(256))), (RECEIVED, 2_000_000_000, b"\0" * 70_000)]
    record(path, events, monkeypatch)
    assert contents(path) == events
    with Recording.open(path) as recording:
        assert recording.facts == replace(FACTS, console=__version__, started_ns=WALL_NS, started_monotonic_ns=5_000)
        assert recording.duration_ns == 2_000_000_000
        assert [transfer.wall_ns - WALL_NS for transfer in recording.transfers()] == [10, 1_000, 2_000_000_000]
        assert not recording.check()


def test_times_never_go_back_although_two_threads_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mcap"
    record(path, [(SENT, 500, b"a"), (RECEIVED, 400, b"b"), (RECEIVED, 600, b"c")], monkeypatch)
    assert contents(path) == [(SENT, 500, b"a"), (RECEIVED, 500, b"b"), (RECEIVED, 600, b"c")]


def test_other_mcap_readers_understand_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mcap"
    record(path, [(ASKED, 0, "why ä?".encode()), (SENT, 1, b"x"), (RECEIVED, 2, b"y")], monkeypatch)
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert [(channel.topic, message.data) for _, channel, message in reader.iter_messages()] == [
            ("session/asked", "why ä?".encode()),
            ("raw/to_board", b"x"),
            ("raw/from_board", b"y"),
        ]
        names = [attachment.name for attachment in reader.iter_attachments()]
        boards = ["boards/rpi5-virtual.toml", "boards/rpi5.toml"]
        assert names == [*boards, "vocabulary.zst", "model.json", "session.json"]


def test_a_session_without_a_byte_is_a_recording_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mcap"
    record(path, [], monkeypatch)
    with Recording.open(path) as recording:
        assert list(recording.transfers()) == []
        assert recording.duration_ns == 0
        assert not recording.check()


def test_what_trickles_in_is_on_disk_within_half_a_second(tmp_path: Path) -> None:
    making = Recorder(tmp_path / "a.mcap", FACTS)
    making.received(b"login: ", time.monotonic_ns())
    deadline = time.monotonic() + 0.5
    while not (seen := contents(making.path)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [data for _, _, data in seen] == [b"login: "]
    making.close()


CHILD = """
import sys, time
from pathlib import Path
from maxconsole.recording import Facts, Recorder
making = Recorder(Path(sys.argv[1]), Facts(board="b"))
print("ready", flush=True)
while True:
    making.received(time.monotonic_ns().to_bytes(8, "little") + bytes(100), time.monotonic_ns())
    time.sleep(0.002)
"""


@pytest.mark.parametrize("life", [0.55, 1.1])
def test_killing_the_console_loses_at_most_half_a_second(tmp_path: Path, life: float) -> None:
    path = tmp_path / "a.mcap"
    with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        started = time.monotonic_ns()
        time.sleep(life)
        killed = time.monotonic_ns()
        child.send_signal(signal.SIGKILL)
    with Recording.open(path) as recording:
        stamps = [int.from_bytes(transfer.data[:8], "little") for transfer in recording.transfers()]
        assert killed - stamps[-1] <= 0.5e9
        assert stamps[0] - started <= 0.1e9
        loss = recording.check()
    assert not loss.closed
    assert "up to its last 0.5 s" in str(loss)
    assert (loss.damaged_chunks, loss.missing_transfers) == (0, 0)


def test_an_existing_file_is_kept_unless_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mcap"
    path.write_bytes(b"thesis")
    for attempt in (lambda: Recorder(path, FACTS), lambda: check_target(path)):
        with pytest.raises(UserError, match="exists") as caught:
            attempt()
        assert "--force" in caught.value.hint
    assert path.read_bytes() == b"thesis"
    check_target(path, force=True)
    Recorder(path, FACTS, force=True).close()
    assert contents(path) == []
    with pytest.raises(UserError, match="No such file"):
        check_target(tmp_path / "missing" / "a.mcap")


def test_a_file_that_is_being_recorded_cannot_be_taken_by_force(tmp_path: Path) -> None:
    first = Recorder(tmp_path / "a.mcap", FACTS)
    first.received(b"kept", time.monotonic_ns())
    with pytest.raises(UserError, match="cannot record to") as caught:
        Recorder(first.path, FACTS, force=True)
    assert "another console" in caught.value.hint
    first.close()
    assert [data for _, _, data in contents(first.path)] == [b"kept"]


@pytest.mark.parametrize("name", ["missing/a.mcap", "", "file/a.mcap"])
def test_a_place_that_cannot_be_written_is_a_plain_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot record to"):
        Recorder(tmp_path / name, FACTS, force=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this host")
def test_a_disk_that_is_full_from_the_start_is_a_plain_error() -> None:
    with pytest.raises(UserError, match="No space left on device") as caught:
        Recorder(Path("/dev/full"), FACTS, force=True)
    assert "free some space" in caught.value.hint


@pytest.fixture
def file_size_limit() -> Iterator[int]:
    """Files cannot grow beyond this, as if the disk were full."""
    limit = 32 << 10
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_fills_up_ends_the_recording_and_not_the_session(tmp_path: Path, file_size_limit: int) -> None:
    failed = threading.Event()
    failures: list[UserError] = []

    def on_failure(error: UserError) -> None:
        failures.append(error)
        failed.set()

    making = Recorder(tmp_path / "a.mcap", FACTS, on_failure=on_failure)
    making.received(b"early", time.monotonic_ns())
    time.sleep(recorder.FLUSH_PERIOD * 1.5)
    making.received(os.urandom(2 * file_size_limit), time.monotonic_ns())
    assert failed.wait(5)
    making.received(b"late", time.monotonic_ns())
    making.sent(b"late", time.monotonic_ns())
    with pytest.raises(UserError, match=r"recording has stopped: .*: File too large") as caught:
        making.close()
    assert caught.value is failures[0]
    assert [data for _, _, data in contents(making.path)] == [b"early"]


def test_a_full_disk_at_the_start_leaves_no_file(tmp_path: Path, file_size_limit: int) -> None:
    big = replace(FACTS, model={"vocabulary": "x" * 2 * file_size_limit})
    with pytest.raises(UserError, match="cannot record to"):
        Recorder(tmp_path / "a.mcap", big)
    assert not (tmp_path / "a.mcap").exists()


def test_a_disk_that_is_too_slow_costs_whole_transfers_which_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "BACKLOG_MAX", 1000)
    monkeypatch.setattr(recorder, "FLUSH_PERIOD", 3600.0)
    making = Recorder(tmp_path / "a.mcap", FACTS)
    for number in range(30):
        making.received(bytes([number]) * 100, time.monotonic_ns())
    making._drain()
    making.received(b"again", time.monotonic_ns())
    making.close()
    kept = [data for _, _, data in contents(making.path)]
    assert kept == [bytes([number]) * 100 for number in range(11)] + [b"again"]
    assert making.dropped == 19
    with Recording.open(making.path) as recording:
        assert recording.check().missing_transfers == 19
        assert "19 transfers are missing" in str(recording.check())


def test_closing_twice_and_taking_bytes_afterwards_is_harmless(tmp_path: Path) -> None:
    making = Recorder(tmp_path / "a.mcap", FACTS)
    making.received(b"in time", time.monotonic_ns())
    assert making.recorded_bytes == 7
    making.close()
    making.close()
    making.received(b"too late", time.monotonic_ns())
    assert [data for _, _, data in contents(making.path)] == [b"in time"]
