# SPDX-License-Identifier: Apache-2.0
"""Real sessions recorded and replayed: the same answers and the same Snapshot, and figures that add up by hand."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from gguf_files import write_model

from maxconsole.recording import Channel, Recording
from maxconsole.session.follower import Answered, Asked, Said
from maxconsole.session.replay import ReplaySession
from maxconsole.session.results import Answer
from maxconsole.session.sampling import GREEDY, Sampling
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare
from maxconsole.telemetry.snapshot import Snapshot

pytestmark = pytest.mark.system

HOT = Sampling(temperature=1.7, top_k=50, top_p=0.95, repeat_penalty=1.1, seed=11)
QUESTIONS = ("hello wörld", "and more")


@pytest.fixture(scope="module", params=["rtt", "uart"])
def prepared(tmp_path_factory: pytest.TempPathFactory, kept_cache: Path, request: pytest.FixtureRequest) -> Prepared:
    folder = tmp_path_factory.mktemp("system")
    model = write_model(folder / "tiny.gguf", hidden=256, heads=4, kv_heads=2, ffn=512, layers=2)
    return prepare(Setup(model=str(model), context=128, batch=16, link=request.param))


@dataclass
class Recorded:
    """A session with two questions, as it was."""

    path: Path
    link: str | None
    answers: list[Answer] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    snapshot: Snapshot | None = None


@pytest.fixture(scope="module")
def recorded(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    made = Recorded(tmp_path_factory.mktemp("recorded") / "a.mcap", prepared.setup.link)
    setup = replace(prepared.setup, record=made.path)
    with Session.start(replace(prepared, setup=setup)) as session:
        said: tuple[int, ...] = ()
        for question, sampling in zip(QUESTIONS, (GREEDY, HOT), strict=True):
            prompt = said + tuple(session.prepared.model.tokenizer.encode(question))
            generation = session.ask(prompt, sampling, 20, stops=False, words=question)
            made.pieces += generation
            made.answers.append(generation.answer)
            said = prompt + generation.answer.tokens
    made.snapshot = session.snapshot()
    return made


def test_the_replay_ends_in_the_same_snapshot_to_the_bit(recorded: Recorded) -> None:
    with ReplaySession.open(recorded.path, speed=0) as replay:
        list(replay.events())
    assert replay.snapshot() == recorded.snapshot
    with Recording.open(recorded.path) as recording:
        assert not recording.check()


def test_the_replay_has_the_same_questions_text_and_answers(recorded: Recorded) -> None:
    with ReplaySession.open(recorded.path, speed=0) as replay:
        events = list(replay.events())
        assert replay.hello == recorded.snapshot.hello if recorded.snapshot else None
    assert [event.words for event in events if isinstance(event, Asked)] == list(QUESTIONS)
    assert [event.text for event in events if isinstance(event, Said)] == recorded.pieces
    answers = [event.answer for event in events if isinstance(event, Answered)]
    assert answers == recorded.answers
    assert answers[1].sampling == HOT
    assert answers[1].cached_tokens > 0


def test_a_recording_that_begins_in_mid_session_is_complete_in_itself(prepared: Prepared, tmp_path: Path) -> None:
    path = tmp_path / "late.mcap"
    with Session.start(prepared) as session:
        prompt = tuple(session.prepared.model.tokenizer.encode("hello"))
        list(session.ask(prompt, GREEDY, 4, stops=False))
        session.record(path)
        generation = session.ask(prompt, GREEDY, 4, stops=False)
        list(generation)
        session.end_recording()
        session.reset()
    with ReplaySession.open(path, speed=0) as replay:
        answers = [event.answer for event in replay.events() if isinstance(event, Answered)]
        assert replay.hello == session.hello
        assert replay.snapshot().pools == session.snapshot().pools
    assert answers == [generation.answer]


def frames_in(stream: bytes) -> Iterator[tuple[int, bytes]]:
    """(type, payload) of the good frames, by nothing of the console's."""
    for segment in stream.split(b"\0"):
        body, at = bytearray(), 0
        while at < len(segment):
            code = segment[at]
            body += segment[at + 1 : at + code]
            at += code
            if code < 255 and at < len(segment):
                body.append(0)
        if len(body) >= 8 and at == len(segment) and zlib.crc32(body[:-4]) == int.from_bytes(body[-4:], "little"):
            yield body[0], bytes(body[4:-4])


EVENT = struct.Struct("<BBHB3xIIQQQ6I")
TOTAL = struct.Struct("<BBB5x4Q6Q")
TOKEN, KERNELS, TOTALS = 3, 4, 5


def test_the_figures_are_the_sums_over_the_raw_bytes(recorded: Recorded) -> None:
    with Recording.open(recorded.path) as recording:
        stream = b"".join(one.data for one in recording.transfers() if one.channel is Channel.FROM_BOARD)
    frames = list(frames_in(stream))
    sums: dict[tuple[int, int, int], np.ndarray] = {}
    last: dict[tuple[int, int, int], tuple[int, ...]] = {}
    for type_, payload in frames:
        if type_ == KERNELS:
            for kernel, core, _, phase, _, instructions, _, cycles, work, *counters in EVENT.iter_unpack(payload):
                cell = sums.setdefault((phase, core, kernel), np.zeros(10, np.uint64))
                cell += np.array([1, cycles, instructions, work, *counters], np.uint64)
        elif type_ == TOTALS:
            for kernel, core, phase, *values in TOTAL.iter_unpack(payload):
                last[phase, core, kernel] = tuple(values)
    snapshot = recorded.snapshot
    assert snapshot is not None
    table = {cell: snapshot.kernels.values[cell] for cell in snapshot.kernels.cells()}
    assert {cell: tuple(map(int, values)) for cell, values in table.items()} == last
    if recorded.link == "rtt":
        assert {cell: values.tolist() for cell, values in table.items()} == {
            cell: values.tolist() for cell, values in sums.items()
        }
    else:
        assert sums == {}
    counts = Counter(type_ for type_, _ in frames)
    assert snapshot.tokens == counts[TOKEN] == sum(len(answer.tokens) for answer in recorded.answers)
    assert snapshot.link.frames == len(frames)
    assert snapshot.link.bytes == len(stream)
    assert snapshot.link.bad_frames == 0


def test_single_events_stay_off_on_the_uart_and_its_text_is_in_the_log(recorded: Recorded) -> None:
    snapshot = recorded.snapshot
    assert snapshot is not None
    lines = [line.text for line in snapshot.log if line.level is None]
    if recorded.link == "uart":
        assert snapshot.events == 0
        assert lines == ["maxconsole engine on aimax395-virtual"]
    else:
        assert snapshot.events > 0
        assert lines == []


def test_both_links_give_the_same_text_and_the_same_work(prepared: Prepared) -> None:
    other = "uart" if prepared.setup.link == "rtt" else "rtt"
    answers = []
    for here in (prepared, prepare(replace(prepared.setup, link=other))):
        with Session.start(here) as session:
            generation = session.ask(tuple(session.prepared.model.tokenizer.encode("hello")), GREEDY, 20, stops=False)
            list(generation)
            answers.append(generation.answer)
    first, second = answers
    assert (first.text, first.tokens, first.logprobs) == (second.text, second.tokens, second.logprobs)
    cells = first.kernels.cells()
    assert cells == second.kernels.cells()
    for phase, core, kernel in cells:
        one, two = (answer.kernels.sums(phase, kernel, core) for answer in answers)
        assert (one.count, one.work) == (two.count, two.work)
    # Over RTT single events are sent, which with a model as small as this is a sixth of the work.
    assert first.decode_cycles == pytest.approx(second.decode_cycles, rel=0.25)
