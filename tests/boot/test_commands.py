# SPDX-License-Identifier: Apache-2.0
"""Whatever arrives, the command loop answers it or counts it, and goes on."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
from boot_machine import Boot

from maxconsole.link.frames import PAYLOAD_MAX, encode_frame
from maxconsole.schema import wire

pytestmark = pytest.mark.system

BLOBS = 1000
_OWN_SEQ = 0x8000  # blobs use sequence numbers from here on, the link's own commands those below


def _noise(rng: random.Random, _: int) -> bytes:
    return rng.randbytes(rng.randrange(1, 3000))


def _delimiters(rng: random.Random, _: int) -> bytes:
    return bytes(rng.choice((0, 0, 1, 255)) for _ in range(rng.randrange(1, 600)))


def _damaged(rng: random.Random, seq: int) -> bytes:
    frame = bytearray(encode_frame(rng.randrange(60, 80), seq, rng.randbytes(rng.randrange(100))))
    frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
    return bytes(frame)


def _endless(rng: random.Random, _: int) -> bytes:
    return bytes(rng.randrange(1, 256) for _ in range(5000)) + b"\0"


def _any_command(rng: random.Random, seq: int) -> bytes:
    size = rng.choice((0, 4, 8, 12, 16, 88, rng.randrange(PAYLOAD_MAX + 1)))
    payload = rng.choice((rng.randbytes(size), bytes(size), bytes(rng.randrange(4) for _ in range(size))))
    return encode_frame(rng.choice((*range(62, 76), rng.randrange(256))), seq, payload)


KINDS: tuple[Callable[[random.Random, int], bytes], ...] = (_noise, _delimiters, _damaged, _any_command, _endless)


@pytest.mark.parametrize("seed", [1, 2])
def test_garbage_is_survived_and_counted(run: Boot, seed: int) -> None:
    rng = random.Random(seed)
    with run("engine") as machine:
        transport = machine.transport()
        with machine.link(transport) as (link, journal):
            well_formed = 0
            for number in range(BLOBS):
                kind = rng.choices(KINDS, (30, 10, 10, 48, 2))[0]
                well_formed += kind is _any_command
                transport.write(b"\0" + kind(rng, _OWN_SEQ + number) + b"\0")
                if number % 50 == 0:
                    assert link.request(wire.Ping(nonce=number), timeout=20).value == number
            assert link.request(wire.Ping(nonce=seed), timeout=20).value == seed
            link.request(wire.Query(item=wire.QueryItem.STATUS))
            assert journal.of(wire.Status)[-1].bad_frames > BLOBS // 4
            assert not journal.of(wire.Fault)
            answered = {reply.command_seq for reply in journal.of(wire.Reply) if reply.command_seq >= _OWN_SEQ}
            assert len(answered) >= well_formed
            assert link.counters.lost_frames == link.counters.bad_frames == 0
        assert "***" not in machine.uart_text()


def test_nonsense_in_the_ring_indices_is_waited_out(run: Boot) -> None:
    with run("engine") as machine:
        transport = machine.transport()
        block = machine.symbols["_SEGGER_RTT"]
        down_write, up_read = block + 24 + 32 + 20, block + 24 + 24
        time.sleep(0.1)
        good = machine.memory.read(down_write, 4), machine.memory.read(up_read, 4)
        for address in (down_write, up_read):
            machine.memory.write(address, b"\xff\xff\xff\x7f")
        time.sleep(0.1)
        for address, word in zip((down_write, up_read), good, strict=True):
            machine.memory.write(address, word)
        with machine.link(transport) as (link, _):
            assert link.request(wire.Ping(nonce=5)).value == 5


REFUSALS = {
    "an unknown type": (99, b"", wire.ReplyStatus.UNKNOWN_COMMAND),
    "a message of the board's own": (wire.MessageType.HELLO, b"", wire.ReplyStatus.UNKNOWN_COMMAND),
    "a short PING": (wire.MessageType.PING, b"ab", wire.ReplyStatus.BAD_LENGTH),
    "a long RESET_KV": (wire.MessageType.RESET_KV, b"abcd", wire.ReplyStatus.BAD_LENGTH),
    "an unknown setting": (wire.MessageType.SET, wire.Set(setting=77, value=1).pack(), wire.ReplyStatus.BAD_VALUE),
    "a batch of none": (
        wire.MessageType.SET,
        wire.Set(setting=wire.Setting.BATCH, value=0).pack(),
        wire.ReplyStatus.BAD_VALUE,
    ),
    "an unknown item": (wire.MessageType.QUERY, wire.Query(item=200).pack(), wire.ReplyStatus.BAD_VALUE),
    "a cancellation of nothing": (
        wire.MessageType.CANCEL,
        wire.Cancel(request=3).pack(),
        wire.ReplyStatus.BAD_VALUE,
    ),
    "a prompt without a model": (
        wire.MessageType.PROMPT_PART,
        wire.PromptPart(request=1, offset=0, tail=(1,)).pack(),
        wire.ReplyStatus.NO_MODEL,
    ),
}


def test_commands_that_cannot_be_done_are_refused_with_the_reason(run: Boot) -> None:
    with run("engine") as machine:
        transport = machine.transport()
        with machine.link(transport) as (link, journal):
            for number, (type_, payload, _) in enumerate(REFUSALS.values()):
                transport.write(encode_frame(type_, _OWN_SEQ + number, payload))
            link.request(wire.Ping(nonce=0))
            replies = {reply.command_seq - _OWN_SEQ: reply for reply in journal.of(wire.Reply)}
            for number, (name, (type_, _, status)) in enumerate(REFUSALS.items()):
                assert (replies[number].command, replies[number].status) == (type_, status), name
