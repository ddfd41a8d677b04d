# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode on several cores: the same bits, no races, and figures that repeat to the cycle."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from firmware_changes import changed, without
from gentle_models import write_gentle_model
from gguf.constants import GGMLQuantizationType as Q
from gguf_files import TOKENS

from maxconsole import paths
from maxconsole.errors import BoardError, UserError
from maxconsole.schema import wire
from maxconsole.session.emulated import EmulatedMachine
from maxconsole.session.machine import Load
from maxconsole.session.progress import silent
from maxconsole.session.results import Answer
from maxconsole.session.route import Route
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare

pytestmark = pytest.mark.system

CONTEXT = 64
#: Enough for four cores to be dealt attention by tokens; smaller ones are dealt tiles.
BATCH = 64
#: Prompts from here on take the int8 route, shorter ones the exact one.
INT8_TOKENS = 32
#: More than the ring holds.
LONG = 330
#: 9 heads on 3 KV heads, and panels that do not divide by four.
SHAPE = {"matrix": Q.Q4_1, "hidden": 288, "ffn": 224, "heads": 9, "kv_heads": 3, "layers": 3}


def tokens_of(count: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(3, len(TOKENS), count).tolist())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, kept_cache: Path) -> Prepared:
    folder = tmp_path_factory.mktemp("cores")
    model = write_gentle_model(folder / "tiny.gguf", **SHAPE)  # type: ignore[arg-type]
    return prepare(Setup(model=str(model), context=CONTEXT, batch=BATCH, route=Route(INT8_TOKENS)))


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


@pytest.mark.parametrize("int8_tokens", [0, 1])
def test_logits_are_the_same_bits_on_any_number_of_cores_past_the_end_of_the_ring(
    session: Session, int8_tokens: int
) -> None:
    tokens = tokens_of(LONG)
    session.use(Route(int8_tokens))
    session.use_cores(1)
    alone = np.stack([logits for _, logits in session.logits(tokens)])
    for cores, batch in ((2, BATCH), (3, 7), (4, BATCH), (4, 5), (4, 1)):
        session.use_cores(cores)
        session.link.request(wire.Set(setting=wire.Setting.BATCH, value=batch))
        together = np.stack([logits for _, logits in session.logits(tokens)])
        np.testing.assert_array_equal(together, alone, f"{cores} cores, batches of {batch}")
    session.link.request(wire.Set(setting=wire.Setting.BATCH, value=BATCH))
    session.use(Route(INT8_TOKENS))


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
        work = [answer.kernels.sums(phase, wire.Kernel.LINEAR_DOWN, core).work for core in range(4)]
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

#: What was found, and how often a core left a barrier too early.
Findings = Callable[..., tuple[tuple[str, ...], int]]


@pytest.fixture
def findings(prepared: Prepared, tmp_path: Path) -> Findings:
    """Runs prefill and decode on a board that checks, with one change to a file of the firmware."""

    def run(
        name: str = "", change: Callable[[str], str] | None = None, cores: int = 4, tokens: int = 40
    ) -> tuple[tuple[str, ...], int]:
        used = prepared if change is None else changed(prepared, tmp_path, name, change)
        weights = (used.plan.weight.base, used.image.data)
        machine = EmulatedMachine(Load(used.board, used.firmware.elf, (weights,), check_races=True), silent)
        with contextlib.ExitStack() as stack:
            stack.callback(machine.close)
            with contextlib.suppress(BoardError) if change else contextlib.nullcontext():  # it may fail as it likes
                session = Session(used, machine)
                stack.callback(session.close)
                session.use_cores(cores)
                ask(session, tokens_of(tokens), 4)
                ask(session, tokens_of(3), 2)
            return machine.races(), machine.early_departures()

    return run


@pytest.mark.parametrize("tokens", [40, 70])  # attention in tiles, by tokens on four cores
@pytest.mark.parametrize("cores", [2, 4])
def test_the_firmware_has_no_races(findings: Findings, cores: int, tokens: int) -> None:
    assert findings(cores=cores, tokens=tokens) == ((), 0)


_MEET = re.compile(r"^ +meet\(&?p(ass)?\);$", re.MULTILINE)
BARRIERS = len(_MEET.findall((paths.firmware_dir() / "engine/forward.c").read_text()))


def without_barrier(number: int) -> Callable[[str], str]:
    def change(text: str) -> str:
        place = list(_MEET.finditer(text))[number]
        return text[: place.start()] + text[place.end() :]

    return change


@pytest.mark.parametrize("number", range(BARRIERS))
def test_a_missing_barrier_is_found(findings: Findings, number: int) -> None:
    races, _ = findings("engine/forward.c", without_barrier(number))
    assert races


@pytest.mark.parametrize(("word", "seen"), [("barrier.sense", "sense"), ("tickets[core].number", "seen")])
def test_a_missing_wait_is_found(findings: Findings, word: str, seen: str) -> None:
    _, early = findings("hal/cores.c", without(f"wait_for_change(&{word}, {seen});", f"(void){seen};"))
    assert early


def test_a_missing_clean_is_found(findings: Findings) -> None:
    races, _ = findings("hal/cores.c", without("    cache_clean(&core_entry, sizeof core_entry);\n"))
    assert any(race.startswith("core_entry") and "MMU off" in race and "secondary_start" in race for race in races)


def test_a_core_that_does_not_come_up_is_reported_and_the_others_work(prepared: Prepared, tmp_path: Path) -> None:
    silenced = without(
        "__atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);",
        "if (core != 2)\n        __atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);",
    )
    with Session.start(changed(prepared, tmp_path, "hal/cores.c", silenced)) as session:
        assert session.hello.cores == 2
        assert [line.text for line in session.snapshot().log if line.level is not None] == [
            "core 2 has been started, but does not come up",
            "2 of 4 cores run",
        ]
        assert len(ask(session, tokens_of(8), 3).tokens) == 3
