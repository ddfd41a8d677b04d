# SPDX-License-Identifier: Apache-2.0
"""A session against a scripted board: text, reuse of cached tokens, cancellation, and boards that die or hang."""

from __future__ import annotations

import dataclasses
import json
import threading
import time

import pytest
import scripted_board as scripts
from gguf_files import BYTE_TEXTS
from scripted_board import HELLO, Connect, ScriptedBoard, tokens_of

from maxconsole.errors import BoardError, UserError
from maxconsole.link.client import RefusedError
from maxconsole.schema import wire
from maxconsole.session import session as session_module
from maxconsole.session.sampling import GREEDY, Sampling


def test_an_answer_has_text_tokens_and_figures(connect: Connect) -> None:
    session, board = connect(reply_tokens=tokens_of("Hé\x1b\n"))
    pieces = []
    generation = session.ask((3, 4, 5), GREEDY, 10)
    for piece in generation:
        pieces.append(piece)
    answer = generation.answer
    assert pieces == ["H", "é", "\\x1b", "\n"]
    assert answer.text == "Hé\\x1b\n"
    assert answer.tokens == tokens_of("Hé\x1b\n")
    assert answer.reason == "stop token"
    assert (answer.prompt_tokens, answer.cached_tokens, answer.prefilled_tokens) == (3, 0, 3)
    assert answer.prefill_rate == pytest.approx(1.5)
    assert answer.decode_steps == 2
    assert answer.decode_rate == pytest.approx(2.0)
    assert [(row.kernel, row.share) for row in answer.rows] == [("linear_up", 0.75), ("between kernels", 0.25)]
    assert answer.dropped_events == 0
    assert str(answer.badge) == "MODELLED (timing model 7)"
    assert board.prompt == [3, 4, 5]
    assert json.loads(json.dumps(answer.to_json()))["decode"]["tokens_per_s"] == pytest.approx(2.0)


def test_an_unfinished_character_is_replaced_at_the_end(connect: Connect) -> None:
    session, _ = connect(reply_tokens=tokens_of(b"ok \xe4\xb8"))
    assert list(session.ask((1,), GREEDY, 5))[-1] == "\ufffd"


def test_figures_of_a_request_are_its_own(connect: Connect) -> None:
    session, _ = connect()
    for _ in range(2):
        generation = session.ask((3, 4), GREEDY, 10)
        list(generation)
    assert generation.answer.kernels.sums(wire.Phase.DECODE, wire.Kernel.STEP).cycles == 1000


def test_a_long_prompt_goes_in_parts(connect: Connect) -> None:
    session, board = connect()
    prompt = tuple(range(3, 253)) * 3
    list(session.ask(prompt, GREEDY, 1))
    assert board.prompt == list(prompt)
    assert sum(frame.type == wire.MessageType.PROMPT_PART for frame in board.commands) == 3


def test_sampling_and_stop_tokens_reach_the_board(connect: Connect) -> None:
    session, board = connect()
    generation = session.ask((3,), Sampling(temperature=0.5, top_k=7, top_p=0.5, repeat_penalty=1.25), 9)
    list(generation)
    command = wire.Generate.unpack(
        next(frame.payload for frame in board.commands if frame.type == wire.MessageType.GENERATE)
    )
    assert (command.temperature, command.top_k, command.top_p, command.repeat_penalty) == (0.5, 7, 0.5, 1.25)
    assert command.max_new == 9
    assert command.seed == generation.answer.sampling.seed
    stop = session.prepared.model.tokenizer.vocabulary.special.stop
    assert command.stop[: command.stop_count] == stop


def last_command(board: ScriptedBoard) -> wire.Generate:
    frames = [frame for frame in board.commands if frame.type == wire.MessageType.GENERATE]
    return wire.Generate.unpack(frames[-1].payload)


def test_a_second_turn_sends_only_what_is_new(connect: Connect) -> None:
    session, board = connect(reply_tokens=(65, 66, 67))
    list(session.ask((3, 4, 5), GREEDY, 10))
    list(session.ask((3, 4, 5, 65, 66, 67, 9, 10), GREEDY, 10))
    assert last_command(board).keep == 5  # the last token of a reply was never computed
    assert board.prompt == [67, 9, 10]


def test_a_changed_conversation_keeps_what_is_the_same(connect: Connect) -> None:
    session, board = connect()
    list(session.ask((3, 4, 5, 6), GREEDY, 10))
    list(session.ask((3, 4, 8, 9), GREEDY, 10))
    assert last_command(board).keep == 2
    assert board.prompt == [8, 9]


def test_the_same_prompt_again_leaves_one_token_to_compute(connect: Connect) -> None:
    session, board = connect()
    for _ in range(2):
        list(session.ask((3, 4, 5), GREEDY, 10))
    assert last_command(board).keep == 2


def test_a_wrapped_ring_is_only_continued_never_cut_back(connect: Connect) -> None:
    session, board = connect(ring_capacity=160)
    long = tuple(range(200))
    generation = session.ask(long, GREEDY, 10)
    list(generation)
    continued = (*long, *generation.answer.tokens, 7)
    list(session.ask(continued, GREEDY, 10))
    assert last_command(board).keep == len(long) + 2
    list(session.ask((*long, 9), GREEDY, 10))
    assert last_command(board).keep == 0


def test_reset_forgets_the_cache(connect: Connect) -> None:
    session, board = connect()
    list(session.ask((3, 4, 5), GREEDY, 10))
    session.reset()
    list(session.ask((3, 4, 5), GREEDY, 10))
    assert last_command(board).keep == 0


def test_cancel_ends_the_request_and_still_gives_a_result(connect: Connect) -> None:
    session, _ = connect(scripts.endless)
    generation = session.ask((3,), GREEDY, 1000)
    for count, _ in enumerate(generation):
        if count == 3:
            session.cancel()
    assert generation.answer.reason == "cancelled"
    assert len(generation.answer.tokens) > 3


def test_leaving_the_loop_cancels_and_the_next_request_works(connect: Connect) -> None:
    session, board = connect(scripts.endless)
    pieces = iter(session.ask((3,), GREEDY, 1000))
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert board.cancelled
    board.script = scripts.answering
    generation = session.ask((3,), GREEDY, 10)
    list(generation)
    assert generation.answer.reason == "stop token"


def test_an_interrupt_cancels_and_passes_on(connect: Connect) -> None:
    session, board = connect(scripts.endless)
    generation = session.ask((3,), GREEDY, 1000)
    iterator = iter(generation)
    next(iterator)
    with pytest.raises(KeyboardInterrupt):
        iterator.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert board.cancelled


def test_a_refused_request_says_why_and_leaves_the_session_usable(connect: Connect) -> None:
    session, board = connect(generate_status=wire.ReplyStatus.OUT_OF_RANGE)
    with pytest.raises(RefusedError, match="refused generate: out of range"):
        list(session.ask((3,), GREEDY, 1))
    board.generate_status = wire.ReplyStatus.OK
    assert list(session.ask((3,), GREEDY, 1))


def test_a_fault_is_reported_with_function_and_line(connect: Connect) -> None:
    session, _ = connect(scripts.faulting)
    with pytest.raises(BoardError) as caught:
        list(session.ask((3,), GREEDY, 10))
    assert caught.value.what == (
        "exception on core 2 at function_10+0x4 (firmware/engine/forward.c:16): data abort \\x1b[31m"
    )
    assert "called from function_20" in caught.value.hint


def test_a_board_that_restarts_is_reported(connect: Connect) -> None:
    session, _ = connect(scripts.restarting)
    with pytest.raises(BoardError, match="restarted in the middle"):
        list(session.ask((3,), GREEDY, 10))


def test_a_board_that_dies_is_reported_at_once(connect: Connect) -> None:
    session, board = connect(scripts.hanging)
    threading.Timer(0.1, setattr, args=(board, "dead", True)).start()
    start = time.monotonic()
    with pytest.raises(BoardError, match="the emulator has ended"):
        list(session.ask((3,), GREEDY, 10))
    assert time.monotonic() - start < 5


def test_a_board_that_hangs_is_halted_and_looked_at(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_SILENCE", 0.5)
    monkeypatch.setattr(session_module, "_ASK_AFTER", 0.2)
    session, board = connect(scripts.hanging, log="early\nboot \x07ok\n")
    with pytest.raises(BoardError, match=r"nothing for 0\.5 s while an answer was expected") as caught:
        list(session.ask((3,), GREEDY, 10))
    assert board.halted
    assert any(frame.type == wire.MessageType.PING for frame in board.commands)
    assert caught.value.hint.splitlines() == [
        "core 0 is at function_10+0x4 (firmware/engine/forward.c:16)",
        "  called from function_20+0x4 (firmware/engine/forward.c:32)",
        "  core 1 is at function_30+0x4 (firmware/engine/forward.c:48)",
        "  UART: early",
        "  UART: boot \\x07ok",
    ]


def test_a_hang_on_a_board_that_cannot_be_halted_is_still_reported(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "_SILENCE", 0.3)
    session, _ = connect(scripts.hanging, haltable=False)
    with pytest.raises(BoardError) as caught:
        list(session.ask((3,), GREEDY, 10))
    assert "could not be halted: no probe" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"protocol": 9}, "speaks protocol 9"),
        ({"schema_hash": 1}, "have the schema 00000001"),
        ({"build_id": bytes(20)}, "runs build 000000000000, not 000102030405"),
        ({"flags": 0}, "did not accept the weights"),
        ({"image_crc": 5}, "other weights"),
    ],
)
def test_a_board_with_another_firmware_is_refused(connect: Connect, change: dict[str, object], message: str) -> None:
    hello = dataclasses.replace(HELLO, **{"image_crc": 0, **change})  # type: ignore[arg-type]
    with pytest.raises(BoardError, match=message):
        connect(hello=hello)


def test_a_board_without_hello_is_reported(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_HELLO_TIMEOUT", 0.2)
    with pytest.raises(BoardError, match="while HELLO was expected"):
        connect(hello=None)


@pytest.mark.parametrize(("prompt", "max_new"), [((), 5), ((1,), 0), ((1,) * 40000, 5)])
def test_requests_that_make_no_sense_are_refused_here(connect: Connect, prompt: tuple[int, ...], max_new: int) -> None:
    session, _ = connect()
    with pytest.raises(UserError):
        session.ask(prompt, GREEDY, max_new)


def test_close_twice_is_harmless(connect: Connect) -> None:
    session, board = connect()
    session.close()
    session.close()
    assert board.closed


def test_a_conversation_reuses_the_cache_turn_by_turn(connect: Connect) -> None:
    session, board = connect(reply_tokens=tokens_of("yes"))
    conversation = session.prepared.model.conversation()
    for question in ("one", "two"):
        turn = conversation.ask(question)
        generation = session.ask(turn.prompt, GREEDY, 10)
        list(generation)
        assert conversation.answered(generation.answer.tokens) == "yes"
    keep = last_command(board).keep
    assert keep > len(session.prepared.model.tokenizer.encode("one")) + 3
    assert keep + len(board.prompt) == len(turn.prompt)


def test_the_byte_texts_of_the_tiny_model_are_where_this_test_thinks() -> None:
    assert len(BYTE_TEXTS) == 256
