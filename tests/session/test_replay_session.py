# SPDX-License-Identifier: Apache-2.0
"""Sessions recorded and replayed: whatever a board does, the recording tells it in the same words and figures."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import scripted_board as scripts
from scripted_board import Connect, Message, ScriptedBoard, tokens_of

from maxconsole import paths
from maxconsole.errors import BoardError, UserError
from maxconsole.link.client import RefusedError
from maxconsole.recording import Channel, Recording
from maxconsole.schema import wire
from maxconsole.session import replay as replay_module
from maxconsole.session.follower import Answered, Asked, BrokenOff, Event, Said
from maxconsole.session.replay import ReplaySession, find_recording, list_recordings
from maxconsole.session.sampling import GREEDY, Sampling
from maxconsole.session.session import Session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.mcap"


def replayed(path: Path) -> list[Event]:
    with ReplaySession.open(path, speed=0) as session:
        return list(session.events())


def test_a_conversation_is_told_again_to_the_bit(connect: Connect, path: Path) -> None:
    session, _ = connect(record=path, reply_tokens=tokens_of("Hé\x1b\n"))
    sampling = Sampling(temperature=0.7, top_p=0.9, repeat_penalty=1.1, seed=2**63 - 1)
    told: list[Event] = []
    for words, prompt in (("why\x07?", (3, 4, 5)), ("", (3, 4, 5, *tokens_of("Hé\x1b\n"), 6))):
        generation = session.ask(prompt, sampling, 10, words=words)
        told.append(Asked(words.replace("\x07", "\\x07"), len(prompt)))
        told += map(Said, generation)
        told.append(Answered(generation.answer))
    session.close()
    with ReplaySession.open(path, speed=0) as replay:
        assert list(replay.events()) == told
        assert (replay.hello, replay.badge, replay.about) == (session.hello, session.badge, session.about)
    assert replay.snapshot() == session.snapshot()
    assert told[-1].answer.sampling == sampling


def test_it_comes_at_the_recorded_pace_and_can_be_held(connect: Connect, path: Path) -> None:
    session, _ = connect(record=path)
    list(session.ask((3,), GREEDY, 10, words="first"))
    time.sleep(0.4)
    list(session.ask((3, 4), GREEDY, 10, words="second"))
    session.close()
    with ReplaySession.open(path) as replay:
        start = time.monotonic()
        first = [event for event in replay.events() if isinstance(event, Asked)]
        assert [event.words for event in first] == ["first", "second"]
        assert time.monotonic() - start > 0.4
        replay.restart()
        replay.transport.pause()
        replay.take()
        time.sleep(0.1)
        assert replay.take() == []
        replay.transport.speed = 0
        replay.transport.resume()
        assert sum(isinstance(event, Answered) for event in replay.events()) == 2


def test_nothing_can_be_asked(connect: Connect, path: Path) -> None:
    connect(record=path)[0].close()
    with ReplaySession.open(path) as replay, pytest.raises(UserError, match="this is a recording"):
        replay.ask((3,), GREEDY, 10)


def test_an_answer_that_the_kill_of_the_console_has_cut_off_is_said_so(connect: Connect, path: Path) -> None:
    session, _ = connect(scripts.endless, record=path)
    pieces = iter(session.ask((3,), GREEDY, 1000, words="go on"))
    said = [next(pieces) for _ in range(5)]
    assert session.recorder is not None
    session.recorder.close()
    events = replayed(path)
    assert isinstance(events[-1], BrokenOff)
    assert events[-1].why == "the recording ends in the middle of the answer"
    assert events[-1].text.startswith("".join(said))
    assert len(events[-1].tokens) == len(events) - 2
    session.cancel()
    list(pieces)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (scripts.faulting, "exception on core 2 at 0x84000010: data abort \\x1b[31m"),
        (scripts.restarting, "the board has restarted"),
    ],
)
def test_a_board_that_fails_is_told_of(connect: Connect, path: Path, script: scripts.Script, why: str) -> None:
    session, _ = connect(script, record=path)
    with pytest.raises(BoardError):
        list(session.ask((3,), GREEDY, 10))
    session.close()
    asked, said, broken = replayed(path)
    assert asked == Asked("", 1)
    assert isinstance(said, Said)
    assert broken == BrokenOff(why, said.text, (65,))


def test_a_request_that_is_refused_is_told_of(connect: Connect, path: Path) -> None:
    session, _ = connect(record=path, generate_status=wire.ReplyStatus.EVICTED)
    with pytest.raises(RefusedError):
        list(session.ask((3,), GREEDY, 10))
    session.close()
    assert replayed(path) == [Asked("", 1), BrokenOff("the board refused generate: evicted", "", ())]


def test_a_recording_can_begin_and_end_at_any_time(connect: Connect, tmp_path: Path) -> None:
    session, _ = connect()
    list(session.ask((3,), GREEDY, 10, words="before"))
    recorder = session.record(tmp_path / "b.mcap")
    with pytest.raises(UserError, match="is being recorded"):
        session.record(tmp_path / "c.mcap")
    generation = session.ask((3,), GREEDY, 10, words="within")
    list(generation)
    session.end_recording()
    list(session.ask((3,), GREEDY, 10, words="after"))
    events = replayed(recorder.path)
    assert events[0] == Asked("within", 1)
    assert events[-1] == Answered(generation.answer)
    assert session.recorder is None
    session.end_recording()


def slowly(board: ScriptedBoard, command: wire.Generate) -> Iterator[Message]:
    """Answers in so small steps that a recording can begin in between."""
    for _ in range(20):
        yield scripts.token(command, 65)
        for _ in range(3):
            yield wire.MessageType.LOG, b""
    yield scripts.done(command, 20, wire.DoneReason.LIMIT)


def test_a_recording_that_begins_in_an_answer_disturbs_neither(connect: Connect, path: Path) -> None:
    session, _ = connect(slowly)
    generation = session.ask((3,), GREEDY, 20)
    pieces = iter(generation)
    next(pieces)
    session.record(path)
    list(pieces)
    assert generation.answer.reason == "limit"
    session.close()
    with ReplaySession.open(path, speed=0) as replay:
        assert list(replay.events()) == []
        assert replay.hello == session.hello


def test_a_disk_that_was_full_is_reported_when_the_session_closes(
    connect: Connect, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, board = connect(record=path)
    assert session.recorder is not None
    session.recorder._fail(OSError(28, "No space left on device"))
    list(session.ask((3,), GREEDY, 10))
    with pytest.raises(UserError, match="No space left on device"):
        session.close()
    assert board.closed >= 1
    session.close()


def test_an_existing_file_is_refused_before_the_board_is_asked_anything(connect: Connect, path: Path) -> None:
    path.touch()
    threads = threading.active_count()
    with pytest.raises(UserError, match="exists"):
        connect(record=path)
    assert threading.active_count() == threads


def test_a_recording_has_the_facts_and_the_words(connect: Connect, path: Path) -> None:
    session, _ = connect(record=path)
    list(session.ask((3,), GREEDY, 10, words="why ä?"))
    session.close()
    with Recording.open(path) as recording:
        facts = recording.facts
        asked = [one.data.decode() for one in recording.transfers() if one.channel is Channel.ASKED]
    assert asked == ["why ä?"]
    assert list(facts.board_profiles) == ["aimax395-virtual.toml", "aimax395.toml"]
    assert facts.model["file"] == "tiny.gguf"
    assert facts.vocabulary is not None
    assert facts.vocabulary.token_bytes(tokens_of("x")[0]) == b"x"
    assert (facts.link, facts.modelled, facts.timing_model, facts.timing) == ("rtt", True, 7, "timed")
    home = str(Path.home()).encode()
    assert home not in path.read_bytes()


def test_a_recording_of_other_messages_says_so(connect: Connect, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(record=path)[0].close()
    with ReplaySession.open(path) as replay:
        assert replay.notes == ()
        monkeypatch.setattr(wire, "SCHEMA_HASH", 1)
        assert "made by another version" in replay.notes[0]


def test_a_file_that_is_no_recording_is_a_plain_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(UserError, match="is not a recording"):
        ReplaySession.open(tmp_path / "a.txt")
    with pytest.raises(UserError, match="there is no recording nowhere") as caught:
        ReplaySession.open("nowhere")
    assert "first-answer" in caught.value.hint


def test_shipped_recordings_are_found_by_name(
    connect: Connect, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(record=path)[0].close()
    (tmp_path / "sessions").mkdir()
    shutil.copy(path, tmp_path / "sessions" / "mine.mcap")
    monkeypatch.setattr(replay_module.paths, "profiles_dir", lambda: tmp_path)
    assert list_recordings() == ("mine",)
    assert find_recording("mine") == tmp_path / "sessions" / "mine.mcap"
    assert find_recording(path) == path


@pytest.mark.parametrize("name", list_recordings())
def test_a_shipped_recording_is_whole_and_small_and_names_no_machine(name: str) -> None:
    path = find_recording(name)
    assert path.stat().st_size < 2_000_000
    with Recording.open(path) as recording:
        assert not recording.check()
        assert recording.facts.schema_hash == wire.SCHEMA_HASH, "scripts/make-demo-sessions makes it anew"
        assert recording.facts.model["file"] == "SmolLM2-135M-Instruct.Q4_1.gguf"
        assert not any(re.search(rb"/(home|root|Users)/", one.data) for one in recording.transfers())
    events = replayed(path)
    answers = [event.answer for event in events if isinstance(event, Answered)]
    assert [(one.lost_frames, one.dropped_events) for one in answers] == [(0, 0)] * len(answers)
    asked = [event for event in events if isinstance(event, Asked)]
    assert all(event.words for event in asked)
    assert sum(isinstance(event, Answered) for event in events) == len(asked)


def test_the_shipped_recordings_show_one_answer_and_a_ring_that_has_wrapped() -> None:
    assert list_recordings() == ("first-answer", "long-chat", "npu-off", "npu-on")
    assert paths.profiles_dir() / "sessions" / "first-answer.mcap" == find_recording("first-answer")
    (_, *_, answered) = replayed(find_recording("first-answer"))
    assert isinstance(answered, Answered)
    npu = [replayed(find_recording(f"npu-{name}"))[-1] for name in ("off", "on")]
    assert [one.answer.npu for one in npu if isinstance(one, Answered)] == ["off", "linear"]
    last = replayed(find_recording("long-chat"))[-1]
    assert isinstance(last, Answered)
    assert last.answer.kv is not None
    assert last.answer.kv.wraps >= 1
    assert last.answer.kv.length > last.answer.kv.context


def test_the_session_is_a_session() -> None:
    """What a viewer needs of a live session is there under the same name."""
    for name in ("about", "badge", "snapshot", "ask", "close"):
        assert hasattr(ReplaySession, name)
        assert hasattr(Session, name)
