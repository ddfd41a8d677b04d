# SPDX-License-Identifier: Apache-2.0
"""State that messages leave behind, log lines, and the snapshot as JSON."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.link import messages
from maxconsole.link.frames import Counters, Decoder, Frame, Text, Unfinished, encode_frame
from maxconsole.link.messages import FromBoard, News
from maxconsole.schema import wire
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import LogLine, Snapshot

HELLO = wire.Hello(
    protocol=1,
    flags=wire.HelloFlag.MODELLED,
    schema_hash=wire.SCHEMA_HASH,
    counter_hz=2_400_000_000,
    build_id=bytes(range(20)),
    cores=1,
    counters=6,
    max_batch=64,
    counter_events=(3, 4, 0x16, 0x17, 0x11, 0x08),
    image_crc=1,
    context=512,
    prompt_max=32768,
    vocabulary=49152,
    board="aimax395-virtual",
    model="SmolLM2",
)
KV = wire.KvState(
    capacity=576,
    context=512,
    sinks=4,
    length=700,
    start=10,
    end=9,
    wraps=1,
    page_tokens=32,
    bytes_per_token=24000,
    map_entries=18,
    map_lookups=1000,
    map_accesses=100,
    map_refills=1,
)
STATUS = wire.Status(
    cycles=1,
    bytes_sent=2,
    dropped_events=30,
    dropped_batches=2,
    bad_frames=0,
    telemetry_cycles=5,
    telemetry_events=6,
)


def folded(*news: News) -> Snapshot:
    telemetry = Telemetry()
    telemetry.accept(news, Counters())
    return telemetry.snapshot()


def log(level: int, text: bytes) -> wire.Log:
    return wire.Log(level=level, tail=text)


def test_an_untouched_board_has_an_empty_snapshot() -> None:
    snapshot = folded()
    assert [snapshot.hello, snapshot.kv, snapshot.fault, snapshot.done] == [None] * 4
    assert snapshot.dropped_events == snapshot.events == snapshot.tokens == 0
    assert json.loads(json.dumps(snapshot.to_json()))["kernels"] == []


def test_the_last_message_of_a_kind_is_the_state() -> None:
    pools = wire.Pools(tail=(wire.Pool(name="weights", base=0x84000000, bytes=100, used=90),))
    done = wire.Done(
        request=1,
        reason=wire.DoneReason.LIMIT,
        int8=0,
        npu=0,
        npu_f16=0,
        attention=0,
        prompt_tokens=20,
        cached_tokens=19,
        generated_tokens=5,
        prefill_cycles=7,
        decode_cycles=8,
    )
    progress = [wire.Progress(request=1, done=n, total=20) for n in (10, 20)]
    snapshot = folded(HELLO, KV, STATUS, pools, *progress, done)
    assert (snapshot.hello, snapshot.kv, snapshot.status, snapshot.done) == (HELLO, KV, STATUS, done)
    assert snapshot.pools == pools.tail
    assert snapshot.progress == progress[1]
    assert snapshot.dropped_events == 30


def test_tokens_are_counted() -> None:
    token = wire.Token(request=1, position=0, token=5, logprob=0.0)
    assert folded(token, token, token).tokens == 3


def test_log_messages_and_text_become_lines_that_are_safe_to_print() -> None:
    snapshot = folded(
        log(wire.LogLevel.WARNING, b"hot \x1b[31m\xff\n"),
        Text(b"U-Boot\r\nhalf "),
        Text("a line é\nrest".encode()),
        Text(b" ends\n"),
    )
    assert snapshot.log == (
        LogLine(wire.LogLevel.WARNING, "hot \\x1b[31m\ufffd"),
        LogLine(None, "U-Boot"),
        LogLine(None, "half a line é"),
        LogLine(None, "rest ends"),
    )
    assert snapshot.log_lines == 4


def test_the_log_is_bounded_and_counts_on() -> None:
    snapshot = folded(*[log(2, str(n).encode()) for n in range(5000)], Text(b"x" * 100_000))
    assert len(snapshot.log) == 2000
    assert snapshot.log_lines == 5000 + 24
    assert snapshot.log[-25].text == "4999"
    assert snapshot.log[-1].text == "x" * 4096
    assert snapshot.unfinished_line == "x" * (100_000 - 24 * 4096)


def test_a_line_that_has_not_ended_shows_while_the_link_is_silent() -> None:
    telemetry = Telemetry()
    telemetry.accept([Text(b"log"), Unfinished(b"in:\x07 ")], Counters())
    assert telemetry.snapshot().unfinished_line == "login:\\x07 "
    telemetry.accept([Text(b"in: root\n")], Counters())
    assert telemetry.snapshot().unfinished_line == ""
    assert telemetry.snapshot().log == (LogLine(None, "login: root"),)


def test_the_snapshot_is_json() -> None:
    event = wire.KernelEvent(
        kernel=wire.Kernel.HEAD,
        core=0,
        layer=wire.NO_LAYER,
        phase=wire.Phase.DECODE,
        step=3,
        instructions=10,
        start_cycles=0,
        cycles=20,
        work=30,
        counters=(1, 2, 3, 4, 5, 6),
    )
    batch = Frame(wire.MessageType.KERNELS, 0, 0, event.pack())
    data = json.loads(json.dumps(folded(HELLO, KV, log(99, b"from the future"), batch).to_json()))
    assert data["board"]["board"] == "aimax395-virtual"
    assert data["board"]["modelled"] is True
    assert data["board"]["model_loaded"] is False
    assert data["board"]["build_id"] == bytes(range(20)).hex()
    assert data["kv"]["length"] == 700
    assert data["log"] == [{"level": "99", "text": "from the future", "arrived_ns": 0}]
    assert data["kernels"] == [
        {
            "phase": "decode",
            "core": 0,
            "kernel": "head",
            "count": 1,
            "cycles": 20,
            "instructions": 10,
            "work": 30,
            "counters": [1, 2, 3, 4, 5, 6],
        }
    ]


def test_equal_streams_give_equal_snapshots() -> None:
    assert folded(HELLO, KV, Text(b"a\n")) == folded(HELLO, KV, Text(b"a\n"))
    assert folded(HELLO) != folded(KV)


@given(st.lists(st.tuples(st.integers(0, 20), st.binary(max_size=200)), max_size=20))
def test_any_payload_of_any_type_is_survived(frames: list[tuple[int, bytes]]) -> None:
    decoder, telemetry = Decoder(), Telemetry()
    stream = b"".join(encode_frame(type_, seq, payload) for seq, (type_, payload) in enumerate(frames))
    telemetry.accept(messages.interpret(decoder.feed(stream), decoder.counters), decoder.counters)
    json.dumps(telemetry.snapshot().to_json())


def test_snapshots_taken_while_chunks_arrive_never_show_half_a_chunk() -> None:
    telemetry = Telemetry()
    pair: list[FromBoard] = [wire.Token(request=1, position=0, token=0, logprob=0.0)] * 2
    batch = Frame(wire.MessageType.KERNELS, 0, 0, np.zeros(3, wire.KernelEvent.DTYPE).tobytes())

    def write() -> None:
        for _ in range(300):
            telemetry.accept([*pair, batch], Counters())

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        snapshot = telemetry.snapshot()
        assert snapshot.tokens % 2 == 0
        assert snapshot.events * 2 == snapshot.tokens * 3
    writer.join()
    assert telemetry.snapshot().tokens == 600


def test_totals_start_anew_when_the_board_counts_other_events() -> None:
    telemetry = Telemetry()
    total = wire.KernelTotal(
        kernel=wire.Kernel.HEAD, core=0, phase=0, count=1, cycles=2, instructions=3, work=4, counters=(5,) * 6
    )
    totals = Frame(wire.MessageType.TOTALS, 0, 0, total.pack())
    other = replace(HELLO, counter_events=(0x10, *HELLO.counter_events[1:]))
    telemetry.accept([HELLO, totals, HELLO], Counters())
    assert telemetry.snapshot().kernels.sums(0, wire.Kernel.HEAD).count == 1
    telemetry.accept([other], Counters())
    assert telemetry.snapshot().kernels.cells() == []
    telemetry.accept([totals], Counters())
    assert telemetry.snapshot().kernels.sums(0, wire.Kernel.HEAD).count == 1
