# SPDX-License-Identifier: Apache-2.0
"""Matrix products on the NPU: the exact route's bits, stated in the answer, and no line stale or dirty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from gentle_models import gentle_rows, write_gentle_model
from gguf.constants import GGMLQuantizationType as Q
from gguf_files import TOKENS, write_model

from maxconsole.boards import load_board
from maxconsole.errors import UserError
from maxconsole.schema import wire
from maxconsole.session.npu_report import npu_report
from maxconsole.session.results import Answer
from maxconsole.session.route import AttentionForm, NpuMode, Route
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup
from maxconsole.telemetry.npu import overlap
from maxconsole.telemetry.report import kernel_rows

pytestmark = pytest.mark.system

BOARD = "aimax395-virtual"
CONTEXT, BATCH = 64, 24
SHAPE = {"hidden": 288, "ffn": 224, "heads": 9, "kv_heads": 3, "layers": 3}
#: More than the ring holds, and across the positions at which blocks of keys begin.
LONG = 300


def tokens_of(count: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(3, len(TOKENS), count).tolist())


def open_session(model: Path, board: str = BOARD, batch: int = BATCH, context: int = CONTEXT) -> Session:
    return Session.open(Setup(board=board, model=str(model), context=context, batch=batch, route=Route(0)))


def ask(session: Session, prompt: Sequence[int], count: int) -> Answer:
    session.reset()
    generation = session.ask(prompt, GREEDY, count, stops=False)
    list(generation)
    return generation.answer


def logits(session: Session, tokens: Sequence[int]) -> np.ndarray:
    return np.stack([row for _, row in session.logits(tokens)])


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    model = write_gentle_model(tmp_path_factory.mktemp("npu") / "tiny.gguf", matrix=Q.Q4_0, **SHAPE)  # type: ignore[arg-type]
    with open_session(model) as session:
        yield session


@pytest.mark.parametrize("mode", ["linear", "pv", "all"])
def test_logits_are_the_exact_routes_bits_past_the_end_of_the_ring(session: Session, mode: NpuMode) -> None:
    tokens = tokens_of(LONG)
    session.use(Route(0, "off"))
    session.use_cores(1)
    alone = logits(session, tokens)
    session.use(Route(0, mode))
    for cores, batch in ((1, BATCH), (2, BATCH), (4, BATCH), (4, 7), (3, 2), (4, 1)):
        session.use_cores(cores)
        session.link.request(wire.Set(setting=wire.Setting.BATCH, value=batch))
        np.testing.assert_array_equal(logits(session, tokens), alone, f"{cores} cores, batches of {batch}")
    session.link.request(wire.Set(setting=wire.Setting.BATCH, value=BATCH))


@pytest.mark.parametrize("arch", ["llama", "qwen2"])
def test_large_batches_have_the_bits_of_small_ones(arch: str, tmp_path: Path) -> None:
    """Cores attend for whole tokens then. With 94 rows the first half is the largest for its memory."""
    tokens, most = tokens_of(LONG), LONG
    model = write_gentle_model(tmp_path / "tiny.gguf", matrix=Q.Q4_0, arch=arch, **SHAPE)  # type: ignore[arg-type]
    for batch in (94, most):
        with open_session(model, batch=batch, context=256) as session:
            for route in (Route(0, "linear"), Route(0, "linear", npu_f16=True), Route(0, "all", npu_f16=True)):
                session.use(Route(0, "off") if not route.npu_f16 else route)
                session.use_cores(1)
                session.link.request(wire.Set(setting=wire.Setting.BATCH, value=BATCH))
                alone = logits(session, tokens)
                session.use(route)
                for cores, rows in ((4, batch), (3, batch), (4, batch * 3 // 4)):
                    session.use_cores(cores)
                    session.link.request(wire.Set(setting=wire.Setting.BATCH, value=rows))
                    np.testing.assert_array_equal(logits(session, tokens), alone, f"{route}, {cores}, {rows}")


def test_answers_say_what_the_npu_has_computed_and_do_not_differ(session: Session) -> None:
    session.use_cores(4)
    session.use(Route(0, "off"))
    without = ask(session, tokens_of(20), 6)
    session.use(Route(0, "linear"))
    with_npu = ask(session, tokens_of(20), 6)
    assert (without.npu, without.npu_jobs) == ("off", {})
    assert (with_npu.npu, with_npu.npu_f16, with_npu.int8) == ("linear", False, False)
    assert with_npu.tokens == without.tokens
    # Four jobs for the seven matrices of all layers but the last, in two halves; nothing of the answer's own tokens.
    assert {phase for phase, _ in with_npu.npu_jobs} == {wire.Phase.PREFILL}
    assert sum(sums.jobs for sums in with_npu.npu_jobs.values()) == 4 * (SHAPE["layers"] - 1) * 2
    assert "NPU" not in without.reason


def test_a_single_token_stays_on_the_cores_and_the_answer_says_so(session: Session) -> None:
    session.use(Route(0, "linear"))
    assert ask(session, tokens_of(1), 2).npu == "off"


def test_results_of_fp16_are_stated_and_close(session: Session) -> None:
    tokens = tokens_of(LONG)
    session.use(Route(0, "linear"))
    exact = logits(session, tokens)
    session.use(Route(0, "linear", npu_f16=True))
    rounded = logits(session, tokens)
    assert ask(session, tokens_of(20), 2).npu_f16
    session.use(Route(0, "linear"))
    assert np.abs(rounded - exact).max() > 0
    assert np.abs(rounded - exact).max() < 0.2  # logits have a standard deviation of 1
    assert np.sqrt(np.mean((rounded - exact) ** 2)) < 0.03


def test_the_last_batch_shows_what_ran_beside_what(session: Session) -> None:
    session.use_cores(4)
    session.use(Route(0, "linear"))
    ask(session, tokens_of(24), 2)
    trace = session.snapshot().steps[wire.Phase.PREFILL]
    jobs = trace.npu
    assert len(jobs) == 4 * (SHAPE["layers"] - 1) * 2
    assert (jobs["submitted"] < jobs["begin"]).all()
    assert (jobs["begin"][1:] >= jobs["end"][:-1]).all()
    side = overlap(trace)
    assert side is not None
    assert 0 < side.overlap <= 1
    assert side.npu_busy <= side.cycles
    assert len(session.snapshot().steps[wire.Phase.DECODE].npu) == 0


@pytest.mark.parametrize("mode", ["pv", "linear", "all"])
@pytest.mark.parametrize("count", [2, 24])
def test_no_step_is_quicker_than_what_bounds_it(session: Session, mode: NpuMode, count: int) -> None:
    """Arithmetic of the NPU, work of the cores, bytes at the bus's best rate."""
    session.use_cores(4)
    session.use(Route(0, mode))
    answer = ask(session, tokens_of(count), 1)
    side = overlap(session.snapshot().steps[wire.Phase.PREFILL])
    assert side is not None
    rows = [row for row in kernel_rows(answer.kernels, session.hello.counter_events) if row.phase == "prefill"]
    report = npu_report(side, rows, load_board(BOARD), answer.counter_hz)
    assert report.ratio >= 1
    assert 0 < report.bus_bound < report.cycles


@pytest.mark.parametrize("form", ["default", "int8-pv", "int16"])
@pytest.mark.parametrize("int8_tokens", [0, 1])
def test_attention_on_the_npu_has_the_bits_of_its_form(session: Session, form: AttentionForm, int8_tokens: int) -> None:
    tokens = tokens_of(LONG)
    session.use_cores(4)
    session.use(Route(int8_tokens, attention=form))
    alone = logits(session, tokens)
    session.use(Route(int8_tokens, "pv", attention=form))
    np.testing.assert_array_equal(logits(session, tokens), alone)


@pytest.mark.parametrize(("mode", "kernels"), [("pv", 1), ("all", 5)])
def test_jobs_of_attention_are_reported(session: Session, mode: NpuMode, kernels: int) -> None:
    session.use_cores(4)
    session.use(Route(0, mode))
    count = 20
    answer = ask(session, tokens_of(count), 2)
    assert answer.npu == mode
    assert {phase for phase, _ in answer.npu_jobs} == {wire.Phase.PREFILL}
    assert len(answer.npu_jobs) == kernels
    layers = SHAPE["layers"] - 1  # the last one needs a single row
    head_dim = SHAPE["hidden"] // SHAPE["heads"]
    pairs = SHAPE["heads"] * count * (count + 1) // 2
    assert answer.npu_jobs[wire.Phase.PREFILL, wire.Kernel.ATTENTION].macs == layers * pairs * head_dim


def test_a_board_without_npu_refuses(tmp_path: Path) -> None:
    model = write_gentle_model(tmp_path / "tiny.gguf", matrix=Q.Q4_0, **SHAPE)  # type: ignore[arg-type]
    with open_session(model, "rpi5-virtual") as session, pytest.raises(UserError, match="this board has no NPU"):
        session.use(Route(0, "linear"))


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("llama", (3, 5)),  # q + k + v, o, gate + up; then q, k, o, gate, down
        ("qwen2", (3, 5)),
    ],
)
def test_formats_that_the_npu_does_not_take_and_biases_stay_on_the_cores(
    arch: str, expected: tuple[int, ...], tmp_path: Path
) -> None:
    shape = {**SHAPE, "heads": 4, "kv_heads": 2, "hidden": 256}
    others = {
        f"blk.{layer}.{name}.weight": (gentle_rows(Q.Q5_0, *size, seed=layer), Q.Q5_0)
        for layer, name, size in ((0, "ffn_down", (256, 224)), (1, "attn_v", (128, 256)), (1, "ffn_up", (224, 256)))
    }
    model = write_model(tmp_path / "mixed.gguf", matrix=Q.Q4_1, replace=others, arch=arch, **shape)  # type: ignore[arg-type]
    tokens = tokens_of(40)
    with open_session(model) as session:
        session.use_cores(4)
        exact = logits(session, tokens)
        session.use(Route(0, "linear"))
        np.testing.assert_array_equal(logits(session, tokens), exact)
        answer = ask(session, tokens_of(20), 2)
        jobs = sum(sums.jobs for sums in answer.npu_jobs.values())
        assert jobs == 2 * sum(expected)
        assert answer.kernels.sums(wire.Phase.PREFILL, wire.Kernel.LINEAR_V).count > 0
        session.use(Route(0, "linear", npu_f16=True))
        assert ask(session, tokens_of(20), 2).npu_f16
