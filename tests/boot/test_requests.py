# SPDX-License-Identifier: Apache-2.0
"""The command loop around a request: the prompt's parts, the order of messages, and commands in the middle of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from boot_machine import Boot, Journal, Machine

from maxconsole.link.client import Link, RefusedError
from maxconsole.link.frames import Frame
from maxconsole.schema import wire

pytestmark = pytest.mark.system

PROMPT_MAX = 32768
PART = 250


@pytest.fixture
def machine(run: Boot) -> Iterator[Machine]:
    with run("echo") as machine:
        yield machine


@pytest.fixture
def echo(machine: Machine) -> Iterator[tuple[Link, Journal]]:
    with machine.link() as (link, journal):
        assert isinstance(link.receive(10), wire.Hello)
        yield link, journal


def command(request: int, tokens: int, *, max_new: int = 5, flags: int = 0, keep: int = 0) -> wire.Generate:
    return wire.Generate(
        request=request,
        keep=keep,
        prompt_tokens=tokens,
        max_new=max_new,
        flags=flags,
        top_k=0,
        temperature=0.0,
        top_p=1.0,
        repeat_penalty=1.0,
        repeat_window=0,
        seed=0,
        stop_count=0,
        stop=(0,) * wire.STOP_TOKENS_MAX,
    )


def send_prompt(link: Link, request: int, tokens: list[int]) -> None:
    for offset in range(0, len(tokens), PART):
        link.request(wire.PromptPart(request=request, offset=offset, tail=tuple(tokens[offset : offset + PART])))


def refusal_of(link: Link, message: wire.PromptPart | wire.Generate | wire.LogitsNext) -> int:
    with pytest.raises(RefusedError) as refused:
        link.request(message)
    return refused.value.status


def answers(link: Link) -> Iterator[object]:
    """Messages of the running request, DONE as the last one."""
    while True:
        news = link.receive(10)
        assert news is not None
        yield news
        if isinstance(news, wire.Done):
            return


def test_a_prompt_of_many_parts_arrives_whole(echo: tuple[Link, Journal]) -> None:
    link, _ = echo
    prompt = [(7 * i) % 1000 for i in range(3 * PART + 17)]
    send_prompt(link, 3, prompt)
    link.request(command(3, len(prompt), max_new=len(prompt)))
    assert [one.token for one in answers(link) if isinstance(one, wire.Token)] == prompt


def test_the_answer_comes_before_the_first_token_and_totals_before_done(echo: tuple[Link, Journal]) -> None:
    link, journal = echo
    send_prompt(link, 1, [4, 5])
    before = len(journal.news)
    link.request(command(1, 2))
    *_, done = answers(link)
    assert isinstance(done, wire.Done)
    assert (done.reason, done.generated_tokens) == (wire.DoneReason.LIMIT, 5)
    kinds = [one.type if isinstance(one, Frame) else type(one) for one in journal.news[before:]]
    order = [kinds.index(kind) for kind in (wire.Reply, wire.Token, wire.MessageType.TOTALS, wire.Done)]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("part", "status"),
    [
        (wire.PromptPart(request=1, offset=2, tail=(5,)), wire.ReplyStatus.OK),
        (wire.PromptPart(request=1, offset=3, tail=(5,)), wire.ReplyStatus.BAD_VALUE),
        (wire.PromptPart(request=1, offset=1, tail=(5,)), wire.ReplyStatus.BAD_VALUE),
        (wire.PromptPart(request=2, offset=2, tail=(5,)), wire.ReplyStatus.BAD_VALUE),
        (wire.PromptPart(request=1, offset=2, tail=()), wire.ReplyStatus.BAD_LENGTH),
        (wire.PromptPart(request=1, offset=2, tail=(999, 1000)), wire.ReplyStatus.OUT_OF_RANGE),
    ],
)
def test_parts_must_follow_each_other_and_hold_tokens(
    echo: tuple[Link, Journal], part: wire.PromptPart, status: int
) -> None:
    link, _ = echo
    send_prompt(link, 1, [1, 2])
    if status == wire.ReplyStatus.OK:
        link.request(part)
    else:
        assert refusal_of(link, part) == status
        assert link.request(command(1, 2)).status == wire.ReplyStatus.OK  # the prompt is as it was


def test_a_prompt_that_is_too_long_is_refused_at_its_end(echo: tuple[Link, Journal]) -> None:
    link, _ = echo
    send_prompt(link, 1, [0] * PROMPT_MAX)
    too_much = wire.PromptPart(request=1, offset=PROMPT_MAX, tail=(0,))
    assert refusal_of(link, too_much) == wire.ReplyStatus.OUT_OF_RANGE
    assert link.request(command(1, PROMPT_MAX, max_new=1)).status == wire.ReplyStatus.OK


def test_an_incomplete_prompt_and_one_of_another_request_are_refused(echo: tuple[Link, Journal]) -> None:
    link, _ = echo
    send_prompt(link, 1, [1, 2])
    assert refusal_of(link, command(1, 3)) == wire.ReplyStatus.INCOMPLETE_PROMPT
    assert refusal_of(link, command(2, 2)) == wire.ReplyStatus.INCOMPLETE_PROMPT


def test_what_the_engine_refuses_is_answered_with_its_reason(echo: tuple[Link, Journal]) -> None:
    link, _ = echo
    send_prompt(link, 1, [1])
    assert refusal_of(link, command(1, 1, keep=9)) == wire.ReplyStatus.OUT_OF_RANGE


def test_a_running_request_answers_questions_refuses_work_and_can_be_cancelled(echo: tuple[Link, Journal]) -> None:
    link, journal = echo
    send_prompt(link, 8, [1])
    link.request(command(8, 1, max_new=1 << 31))
    assert link.request(wire.Ping(nonce=99)).value == 99
    link.request(wire.Query(item=wire.QueryItem.STATUS))
    assert refusal_of(link, command(9, 1)) == wire.ReplyStatus.BUSY
    assert refusal_of(link, wire.PromptPart(request=9, offset=0, tail=(1,))) == wire.ReplyStatus.BUSY
    assert refusal_of(link, wire.LogitsNext(request=8)) == wire.ReplyStatus.BAD_VALUE
    with pytest.raises(RefusedError):
        link.request(wire.Cancel(request=7))
    link.request(wire.Cancel(request=8))
    *_, done = answers(link)
    assert isinstance(done, wire.Done)
    assert done.reason == wire.DoneReason.CANCELLED
    assert journal.of(wire.Token)[-1].position == done.generated_tokens - 1
    send_prompt(link, 9, [2])  # and the board is ready again
    link.request(command(9, 1))


def test_a_cancellation_that_came_too_late_does_not_end_the_next_request(echo: tuple[Link, Journal]) -> None:
    link, _ = echo
    with pytest.raises(RefusedError):
        link.request(wire.Cancel(request=5))
    send_prompt(link, 5, [1])
    link.request(command(5, 1))
    *_, done = answers(link)
    assert isinstance(done, wire.Done)
    assert done.reason == wire.DoneReason.LIMIT


def test_logits_wait_until_they_have_been_read(machine: Machine, echo: tuple[Link, Journal]) -> None:
    link, _ = echo
    prompt = [11, 22, 33]
    send_prompt(link, 1, prompt)
    link.request(command(1, 3, flags=wire.GenerateFlag.LOGITS))
    for position, token in enumerate(prompt):
        logits = link.receive(10)
        assert isinstance(logits, wire.Logits)
        assert (logits.position, logits.count) == (position, 1000)
        values = machine.memory.view(logits.address, 4 * logits.count).cast("f")
        assert (values[position], values[position + 1]) == (token, 0)
        time.sleep(0.05)
        assert values[position + 1] == 0
        values.release()
        link.request(wire.LogitsNext(request=1))
    done = link.receive(10)
    assert isinstance(done, wire.Done)
    assert done.reason == wire.DoneReason.PROMPT_ONLY


def test_a_request_that_waits_with_its_logits_can_be_cancelled(echo: tuple[Link, Journal]) -> None:
    link, _ = echo
    send_prompt(link, 1, [1, 2])
    link.request(command(1, 2, flags=wire.GenerateFlag.LOGITS))
    assert isinstance(link.receive(10), wire.Logits)
    link.request(wire.Cancel(request=1))
    done = link.receive(10)
    assert isinstance(done, wire.Done)
    assert done.reason == wire.DoneReason.CANCELLED


def test_reset_forgets_the_cache_and_shows_it(echo: tuple[Link, Journal]) -> None:
    link, journal = echo
    send_prompt(link, 1, [1])
    link.request(command(1, 1))
    *_, _done = answers(link)
    link.request(wire.Ping(nonce=0))
    assert journal.of(wire.KvState)[-1].length == 5
    link.request(wire.MessageType.RESET_KV)
    assert journal.of(wire.KvState)[-1].length == 0
