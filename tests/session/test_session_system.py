# SPDX-License-Identifier: Apache-2.0
"""Sessions on the real virtual board with the real firmware and a tiny model, over both links."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf_files import write_model

from maxconsole.errors import BoardError
from maxconsole.firmware.elf import read_elf
from maxconsole.link.client import RefusedError
from maxconsole.models.oracle import teacher_forced_logits
from maxconsole.models.oracle_weights import FileWeights
from maxconsole.schema import wire
from maxconsole.session import session as session_module
from maxconsole.session.results import Answer
from maxconsole.session.sampling import GREEDY, Sampling
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare
from maxconsole.session.verify import verify

pytestmark = pytest.mark.system

CONTEXT = 128


@pytest.fixture(scope="module", params=["rtt", "uart"])
def setup(tmp_path_factory: pytest.TempPathFactory, kept_cache: Path, request: pytest.FixtureRequest) -> Setup:
    folder = tmp_path_factory.mktemp("system")
    model = write_model(folder / "tiny.gguf", hidden=256, heads=4, kv_heads=2, ffn=512, layers=2)
    return Setup(model=str(model), context=CONTEXT, batch=16, link=request.param)


@pytest.fixture(scope="module")
def prepared(setup: Setup) -> Prepared:
    return prepare(setup)


@pytest.fixture
def session(prepared: Prepared) -> Iterator[Session]:
    with Session.start(prepared) as session:
        yield session


def emulators() -> set[int]:
    """Emulators that this process has started."""
    found = set()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if "qemu-system" in (folder / "comm").read_text() and int(parent) == os.getpid() and state != "Z":
                found.add(int(folder.name))
    return found


def prompt_of(session: Session, text: str = "hello world") -> tuple[int, ...]:
    return tuple(session.prepared.model.tokenizer.encode(text))


def answer_to(session: Session, prompt: tuple[int, ...], count: int = 8, sampling: Sampling = GREEDY) -> Answer:
    generation = session.ask(prompt, sampling, count, stops=False)
    list(generation)
    return generation.answer


def test_an_answer_comes_with_counted_kernels(session: Session) -> None:
    answer = answer_to(session, prompt_of(session))
    assert len(answer.tokens) == 8
    assert answer.reason == "limit"
    assert answer.decode_steps == 7
    assert answer.badge.modelled
    assert answer.badge.model_version
    assert answer.prefill_cycles > 0 < answer.decode_cycles
    assert answer.dropped_events == answer.lost_frames == 0
    rows = {(row.phase, row.kernel): row for row in answer.rows}
    assert sum(row.share for row in answer.rows if row.phase == "decode") == pytest.approx(1)
    up = rows["decode", "linear_up"]
    assert up.count == session.hello.cores * 2 * 7
    assert up.work == 2 * 7 * 256 * 512
    assert up.instructions_per_mac is not None
    assert up.l1d_refill is not None
    assert answer.kv is not None
    assert answer.kv.length == len(prompt_of(session)) + 7


def test_the_counters_count_what_is_selected(prepared: Prepared) -> None:
    with Session.start(prepared) as session:
        answer_to(session, prompt_of(session))
        loads, stores, retired = 0x66, 0x67, 0x08
        session.select_events((loads, stores, 0x13, retired, 0x11, 0x03))
        assert session.hello.counter_events[:2] == (loads, stores)
        assert session.snapshot().kernels.cells() == []  # counts of different events do not add up
        session.reset()
        session.use_cores(1)  # with several, cycles are corrected for what the others cost, counters are not
        for row in answer_to(session, prompt_of(session)).rows:
            if row.counters:
                assert row.counters["0x66"] + row.counters["0x67"] == row.counters["0x13"]
                assert row.counters["0x08"] == row.instructions > 0
                assert row.counters["0x11"] == row.cycles


def test_the_same_request_does_the_same_work_on_a_fresh_board(prepared: Prepared) -> None:
    """Cycles may differ a little: when the command arrives, and how far the console has read, touches the caches."""
    runs = []
    for _ in range(2):
        with Session.start(prepared) as session:
            runs.append(answer_to(session, prompt_of(session)))
    assert runs[0].tokens == runs[1].tokens
    assert runs[0].decode_cycles == pytest.approx(runs[1].decode_cycles, rel=0.01)
    for phase, core, kernel in runs[0].kernels.cells():
        first, second = (run.kernels.sums(phase, kernel, core) for run in runs)
        assert (first.count, first.work) == (second.count, second.work)


def test_a_seed_repeats_an_answer_and_another_does_not(session: Session) -> None:
    prompt = prompt_of(session)
    hot = [answer_to(session, prompt, 12, Sampling(temperature=3.0, top_p=1.0, seed=seed)).tokens for seed in (1, 1, 2)]
    assert hot[0] == hot[1] != hot[2]


def test_cached_turns_give_what_one_prompt_gives(session: Session) -> None:
    first = prompt_of(session)
    answer = answer_to(session, first)
    whole = (*first, *answer.tokens, *prompt_of(session, " and more"))
    continued = answer_to(session, whole)
    assert continued.cached_tokens == len(first) + len(answer.tokens) - 1
    session.reset()
    afresh = answer_to(session, whole)
    assert afresh.cached_tokens == 0
    assert afresh.tokens == continued.tokens


def test_a_conversation_outlives_the_ring(session: Session) -> None:
    prompt = prompt_of(session) * 120
    answer = answer_to(session, prompt, 4)
    assert answer.kv is not None
    assert answer.kv.wraps >= 1
    again = answer_to(session, (*prompt, *answer.tokens, 65), 4)
    assert again.cached_tokens == len(prompt) + 3


def test_logits_are_those_of_the_float_oracle_within_quantization(session: Session) -> None:
    prompt = prompt_of(session, "hello world, hello hello")
    positions, logits = zip(*session.logits(prompt), strict=True)
    assert positions == tuple(range(len(prompt)))
    model = session.prepared.model
    oracle = next(teacher_forced_logits(FileWeights(model.file, model.layout), [prompt])).logits
    measured = np.stack(logits)
    assert measured.shape == oracle.shape
    # Random weights amplify rounding from token to token: the first is exact to a percent, the others are close.
    errors = np.abs(measured - oracle).max(axis=1) / np.abs(oracle).max()
    assert errors[0] < 0.03
    assert np.median(errors) < 0.15
    assert answer_to(session, prompt, 1).tokens == (int(measured[-1].argmax()),)


def test_flashed_memory_is_confirmed_by_the_board(session: Session) -> None:
    names = [region.name for region in verify(session.link, session.prepared)]
    assert names[0] == "code"
    assert names[-1] == "weights"


def test_damaged_weights_are_found_by_the_board(session: Session) -> None:
    address = session.prepared.plan.weight.base + 5000
    memory = session._machine.memory
    memory.write(address, bytes([memory.read(address, 1)[0] ^ 1]))
    with pytest.raises(BoardError, match="reads other weights than were flashed"):
        verify(session.link, session.prepared)


def test_cancel_stops_a_long_answer(session: Session) -> None:
    generation = session.ask(prompt_of(session), GREEDY, 100_000, stops=False)
    threading.Timer(0.5, session.cancel).start()
    start = time.monotonic()
    list(generation)
    assert time.monotonic() - start < 20
    assert generation.answer.reason == "cancelled"
    assert answer_to(session, prompt_of(session), 2).reason == "limit"


def test_a_token_that_does_not_exist_is_refused(session: Session) -> None:
    with pytest.raises(RefusedError, match="out of range"):
        list(session.ask((2**31,), GREEDY, 1))


def instruction_at(prepared: Prepared, function: str) -> int:
    return read_elf(prepared.firmware.elf).address_of(function)


def test_a_crash_is_reported_with_its_function(session: Session) -> None:
    address = instruction_at(session.prepared, "sample")
    session._machine.memory.write(address, bytes(4))  # UDF, before the function has ever run
    with pytest.raises(BoardError, match=r"exception on core 0 at sample\+0x0 \(firmware/engine/sampling\.c:\d+\)"):
        answer_to(session, prompt_of(session))


def test_a_hang_is_found_and_reported_with_its_function(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_SILENCE", 2.0)
    address = instruction_at(session.prepared, "sample")
    session._machine.memory.write(address, (0x14000000).to_bytes(4, "little"))  # branch to itself
    with pytest.raises(BoardError, match="has sent nothing for 2 s") as caught:
        answer_to(session, prompt_of(session))
    assert "core 0 is at sample+0x0 (firmware/engine/sampling.c:" in caught.value.hint
    assert "called from" in caught.value.hint


def test_an_emulator_that_is_killed_is_reported_and_nothing_is_left(prepared: Prepared) -> None:
    before = emulators()
    with Session.start(prepared) as session:
        (emulator,) = emulators() - before
        generation = session.ask(prompt_of(session), GREEDY, 100_000, stops=False)
        threading.Timer(0.5, os.kill, args=(emulator, signal.SIGKILL)).start()
        with pytest.raises(BoardError, match="killed by SIGKILL"):
            list(generation)
    assert emulators() == before


def test_closing_leaves_no_process_and_no_thread(prepared: Prepared) -> None:
    processes, threads = emulators(), threading.active_count()
    with Session.start(prepared) as session:
        answer_to(session, prompt_of(session), 1)
        assert emulators() != processes
    assert emulators() == processes
    assert threading.active_count() == threads


def test_without_timing_the_text_is_the_same_and_nothing_is_counted(prepared: Prepared, session: Session) -> None:
    timed = answer_to(session, prompt_of(session))
    untimed_setup = replace(prepared.setup, timing="off")
    with Session.open(untimed_setup) as fast:
        untimed = answer_to(fast, prompt_of(fast))
    assert untimed.tokens == timed.tokens
    assert untimed.logprobs == timed.logprobs
    assert str(untimed.badge) == "UNTIMED"
    assert untimed.prefill_rate is None


def test_figures_do_not_depend_on_how_close_together_commands_come(prepared: Prepared) -> None:
    figures = []
    for pause in (0.05, 0.0):
        with Session.start(prepared) as session:
            for _ in range(3):  # a status reads the counters
                session.link.send(wire.Query(item=wire.QueryItem.STATUS))
                time.sleep(pause)
            generation = session.ask([1, 2, 3, 4, 5], GREEDY, 4)
            assert list(generation)
            figures.append((generation.answer.prefill_cycles, generation.answer.kernels))
    assert figures[0] == figures[1]
