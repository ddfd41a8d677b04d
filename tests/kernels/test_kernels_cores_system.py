# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode on several cores: the same bits, no races, and figures that repeat to the cycle."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gentle_models import write_gentle_model
from gguf.constants import GGMLQuantizationType as Q
from gguf_files import TOKENS

from maxconsole import paths
from maxconsole.errors import UserError
from maxconsole.firmware.build import build
from maxconsole.schema import wire
from maxconsole.session.emulated import EmulatedMachine
from maxconsole.session.machine import Load
from maxconsole.session.progress import silent
from maxconsole.session.results import Answer
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare

pytestmark = pytest.mark.system

CONTEXT, BATCH = 64, 16
#: More than the ring holds.
LONG = 330
#: 9 heads on 3 KV heads, and panels that do not divide by four.
SHAPE = {"matrix": Q.Q4_1, "hidden": 288, "ffn": 224, "heads": 9, "kv_heads": 3, "layers": 3}


def tokens_of(count: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(3, len(TOKENS), count).tolist())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Prepared]:
    folder = tmp_path_factory.mktemp("cores")
    assert pytestconfig.cache is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXCONSOLE_CACHE", str(pytestconfig.cache.mkdir("maxconsole")))
        model = write_gentle_model(folder / "tiny.gguf", **SHAPE)  # type: ignore[arg-type]
        yield prepare(Setup(model=str(model), context=CONTEXT, batch=BATCH))


@pytest.fixture(scope="module")
def session(prepared: Prepared) -> Iterator[Session]:
    with Session.start(prepared) as session:
        yield session


def ask(session: Session, prompt: Sequence[int], count: int) -> Answer:
    session.reset()
    generation = session.ask(prompt, GREEDY, count, stops=False)
    list(generation)
    return generation.answer


def test_all_cores_of_the_board_run(session: Session) -> None:
    assert session.hello.cores == session.prepared.board.cpu.cores == 4
    assert any(line.text == "4 of 4 cores run" for line in session.snapshot().log)


def test_logits_are_the_same_bits_on_any_number_of_cores_past_the_end_of_the_ring(session: Session) -> None:
    tokens = tokens_of(LONG)
    session.use_cores(1)
    alone = np.stack([logits for _, logits in session.logits(tokens)])
    for cores, batch in ((2, BATCH), (3, 7), (4, BATCH), (4, 5), (4, 1)):
        session.use_cores(cores)
        session.link.request(wire.Set(setting=wire.Setting.BATCH, value=batch))
        together = np.stack([logits for _, logits in session.logits(tokens)])
        np.testing.assert_array_equal(together, alone, f"{cores} cores, batches of {batch}")
    session.link.request(wire.Set(setting=wire.Setting.BATCH, value=BATCH))


@pytest.mark.parametrize("length", [1, 3, 17, 100])
def test_greedy_answers_are_the_same_on_any_number_of_cores(session: Session, length: int) -> None:
    answers = []
    for cores in (1, 2, 4):
        session.use_cores(cores)
        answers.append(ask(session, tokens_of(length, seed=length), 12).tokens)
    assert answers[0] == answers[1] == answers[2]


def test_more_cores_than_run_are_refused(session: Session) -> None:
    with pytest.raises(UserError, match="cannot use 5 cores"):
        session.use_cores(5)


def test_every_core_accounts_for_its_work_and_its_waiting(session: Session) -> None:
    session.use_cores(4)
    answer = ask(session, tokens_of(40), 4)
    for phase in wire.Phase:
        work = [answer.kernels.sums(phase, wire.Kernel.LINEAR_UP, core).work for core in range(4)]
        assert min(work) > 0
        tokens = 40 if phase == wire.Phase.PREFILL else 3
        # The last layer runs for the last prompt token alone.
        assert sum(work) == 224 * 288 * ((2 * tokens + 1) if phase == wire.Phase.PREFILL else 3 * tokens)
        step = answer.kernels.sums(phase, wire.Kernel.STEP, 0).cycles
        for core in range(4):
            counted = [answer.kernels.sums(phase, kernel, core).cycles for kernel in wire.Kernel if kernel]
            assert 0.5 * step < sum(counted) <= step
            assert answer.kernels.sums(phase, wire.Kernel.WAIT, core).count > 0
    assert answer.dropped_events == answer.lost_frames == 0


def test_the_ring_is_reported_with_every_token(session: Session) -> None:
    lengths = []
    session.reset()
    for _ in session.ask(tokens_of(20), GREEDY, 6, stops=False):
        kv = session.snapshot().kv
        assert kv is not None
        lengths.append(kv.length)
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 2


def test_a_request_can_be_cancelled_while_four_cores_work(session: Session) -> None:
    session.use_cores(4)
    threading.Timer(0.3, session.cancel).start()
    assert ask(session, tokens_of(8), 5000).reason == "cancelled"
    assert len(ask(session, tokens_of(8), 3).tokens) == 3


def test_modeled_cycles_of_four_cores_repeat_exactly(prepared: Prepared) -> None:
    def run() -> Answer:
        with Session.start(prepared) as session:
            return ask(session, tokens_of(40), 4)

    first, again = run(), run()
    assert first.kernels == again.kernels
    assert (first.prefill_cycles, first.decode_cycles) == (again.prefill_cycles, again.decode_cycles)


# What the checks of the virtual board find

Patch = tuple[str, str, str]


@pytest.fixture
def findings(prepared: Prepared, tmp_path: Path) -> Callable[..., tuple[tuple[str, ...], int]]:
    """Runs prefill and decode on a board that checks, with one change to the firmware's sources."""

    def run(patch: Patch | None = None, cores: int = 4) -> tuple[tuple[str, ...], int]:
        elf = prepared.firmware.elf
        if patch is not None:
            sources = tmp_path / "firmware"
            shutil.copytree(paths.firmware_dir(), sources)
            name, old, new = patch
            text = (sources / name).read_text()
            assert text.count(old) == 1, f"{name} has changed: {old}"
            (sources / name).write_text(text.replace(old, new))
            changed = build(prepared.board, prepared.plan, sources=sources)
            elf = changed.elf
            used = replace(prepared, firmware=changed)
        else:
            used = prepared
        weights = (prepared.plan.weight.base, prepared.image.data)
        machine = EmulatedMachine(Load(prepared.board, elf, (weights,), check_races=True), silent)
        with Session(used, machine) as session:
            session.use_cores(cores)
            ask(session, tokens_of(40), 4)
            ask(session, tokens_of(3), 2)
            return machine.races(), machine.early_departures()

    return run


@pytest.mark.parametrize("cores", [2, 4])
def test_the_firmware_has_no_races(findings: Callable[..., tuple[tuple[str, ...], int]], cores: int) -> None:
    assert findings(cores=cores) == ((), 0)
