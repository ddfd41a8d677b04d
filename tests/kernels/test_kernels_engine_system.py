# SPDX-License-Identifier: Apache-2.0
"""The engine on the real virtual board: answers do not depend on batches, follow the model, and outlive the ring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from gentle_models import write_gentle_model
from gguf.constants import GGMLQuantizationType as Q
from gguf_files import TOKENS

from maxconsole.link.client import RefusedError
from maxconsole.models.accuracy import Comparison
from maxconsole.models.oracle import teacher_forced_logits
from maxconsole.models.oracle_weights import FileWeights
from maxconsole.schema import wire
from maxconsole.session.route import Route
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup, prepare

pytestmark = pytest.mark.system

F32 = npt.NDArray[np.float32]
CONTEXT = 64
BATCH = 16
#: More than the ring holds: sink page, window, one batch, and what alignment adds.
LONG = 330
Starter = Callable[..., Session]


def tokens_of(count: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(3, len(TOKENS), count).tolist())


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory, kept_cache: Path) -> Starter:
    """Starts a board with a tiny model of the given shape."""
    folder = tmp_path_factory.mktemp("engine")
    made = 0

    def start(**shape: object) -> Session:
        nonlocal made
        made += 1
        model = write_gentle_model(folder / f"tiny{made}.gguf", **shape)  # type: ignore[arg-type]
        return Session.start(
            prepare(Setup(model=str(model), context=CONTEXT, batch=BATCH, route=Route(0), timing="off"))
        )

    return start


def set_batch(session: Session, tokens: int) -> None:
    session.link.request(wire.Set(setting=wire.Setting.BATCH, value=tokens))


def board_logits(session: Session, tokens: tuple[int, ...]) -> F32:
    return np.stack([logits for _, logits in session.logits(tokens)])


def divergence(session: Session, tokens: tuple[int, ...], logits: F32, context: int) -> float:
    """Mean KL of the board's logits from the float32 model's with `context` visible tokens."""
    model = session.prepared.model
    blocks = teacher_forced_logits(FileWeights(model.file, model.layout), [tokens], context)
    comparison = Comparison()
    comparison.add(np.concatenate([block.logits for block in blocks]), logits)
    return comparison.result().mean_kl


@pytest.mark.parametrize("int8_tokens", [0, 1])
def test_batches_of_any_size_give_the_same_bits_before_and_after_the_ring_turns(
    start: Starter, int8_tokens: int
) -> None:
    tokens = tokens_of(LONG)
    with start(matrix=Q.Q4_1, heads=4, kv_heads=2) as session:
        session.use(Route(int8_tokens))
        whole = board_logits(session, tokens)
        session.link.request(wire.Query(item=wire.QueryItem.KV_STATE))  # answered after the state was sent
        kv = session.snapshot().kv
        assert kv is not None
        assert kv.wraps >= 1
        for batch in (1, 7, 15):
            set_batch(session, batch)
            np.testing.assert_array_equal(board_logits(session, tokens), whole, f"batches of {batch}")
        set_batch(session, BATCH)
        np.testing.assert_array_equal(board_logits(session, tokens[:1]), whole[:1])


@pytest.mark.parametrize(
    ("matrix", "shape"),
    [
        (Q.Q4_0, {}),
        (Q.Q4_1, {"heads": 2, "kv_heads": 1}),
        (Q.Q5_0, {"hidden": 96, "heads": 6, "kv_heads": 2, "ffn": 160}),
        (Q.Q5_1, {"hidden": 160, "heads": 2, "kv_heads": 2}),  # heads of 80
        (Q.Q8_0, {"tied": False}),
        (Q.F16, {"hidden": 192, "heads": 2, "kv_heads": 1}),  # heads of 96
        (Q.Q4_K, {"hidden": 256, "ffn": 512, "heads": 2, "kv_heads": 1}),  # heads of 128
        (Q.Q4_0, {"arch": "qwen2", "tied": False}),  # with biases, pairs half-split in the file
        (Q.Q4_K, {"arch": "qwen2", "hidden": 256, "ffn": 512, "heads": 2, "kv_heads": 1}),
        (Q.Q5_K, {"hidden": 256, "ffn": 256, "heads": 8, "kv_heads": 4}),
        (Q.Q6_K, {"hidden": 256, "ffn": 512, "heads": 4, "kv_heads": 1, "tied": False}),
    ],
)
def test_logits_follow_the_float_model_in_every_format_past_the_context(
    start: Starter, matrix: Q, shape: dict[str, object]
) -> None:
    tokens = tokens_of(2 * CONTEXT + 40, seed=int(matrix))
    with start(matrix=matrix, **shape) as session:
        logits = board_logits(session, tokens)
        error = divergence(session, tokens, logits, CONTEXT)
        assert error < 0.003
        # One key more or less is seen to be wrong, and so would one at another angle be.
        assert 5 * error < divergence(session, tokens, logits, CONTEXT - 1)
        assert 5 * error < divergence(session, tokens, logits, CONTEXT + 1)


@pytest.mark.parametrize("matrix", [Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q8_0, Q.Q4_K, Q.Q6_K])
def test_the_int8_route_follows_the_float_model_and_is_said_to_have_been_taken(start: Starter, matrix: Q) -> None:
    tokens = tokens_of(CONTEXT, seed=int(matrix))
    with start(matrix=matrix, hidden=256, ffn=512, heads=4, kv_heads=2) as session:
        exact = board_logits(session, tokens)
        session.use(Route(CONTEXT))
        logits = board_logits(session, tokens)
        assert (logits != exact).any()
        assert divergence(session, tokens, logits, CONTEXT) < 0.006
        for prompt, int8 in ((tokens, True), (tokens[1:], False)):
            session.reset()
            generation = session.ask(prompt, GREEDY, 1)
            list(generation)
            assert generation.answer.int8 == int8


def generate(session: Session, prompt: tuple[int, ...], keep: int, request: int, **fields: float) -> wire.Generate:
    """Sends a prompt; returns a command for it."""
    for at in range(0, len(prompt), 200):
        session.link.request(wire.PromptPart(request=request, offset=at, tail=prompt[at : at + 200]))
    values = {"max_new": 1, "temperature": 0.0, "top_p": 1.0, "repeat_penalty": 1.0} | fields
    return wire.Generate(
        request=request,
        keep=keep,
        prompt_tokens=len(prompt),
        flags=0,
        top_k=0,
        repeat_window=0,
        seed=0,
        stop_count=0,
        stop=(),
        **values,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("keep", "fields", "status"),
    [
        (LONG + 1, {}, wire.ReplyStatus.OUT_OF_RANGE),
        (100, {}, wire.ReplyStatus.EVICTED),
        (LONG, {"temperature": -1.0}, wire.ReplyStatus.BAD_VALUE),
        (LONG, {"temperature": float("nan")}, wire.ReplyStatus.BAD_VALUE),
        (LONG, {"top_p": 0.0}, wire.ReplyStatus.BAD_VALUE),
        (LONG, {"repeat_penalty": 0.0}, wire.ReplyStatus.BAD_VALUE),
        (LONG, {"max_new": 2**32 - 1}, wire.ReplyStatus.OUT_OF_RANGE),
    ],
)
def test_a_command_that_cannot_run_is_refused_and_changes_nothing(
    filled: Session, keep: int, fields: dict[str, float], status: wire.ReplyStatus
) -> None:
    with pytest.raises(RefusedError) as refused:
        filled.link.request(generate(filled, tokens_of(3), keep, 77, **fields))
    assert refused.value.status == status
    filled.link.request(wire.Query(item=wire.QueryItem.KV_STATE))
    kv = filled.snapshot().kv
    assert kv is not None
    assert kv.length == LONG


@pytest.fixture(scope="module")
def filled(start: Starter) -> Iterator[Session]:
    """A board whose ring has turned."""
    with start() as session:
        board_logits(session, tokens_of(LONG))
        yield session
