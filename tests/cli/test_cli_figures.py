# SPDX-License-Identifier: Apache-2.0
"""The figures after an answer."""

from __future__ import annotations

import dataclasses

from maxconsole.cli.figures import answer_lines
from maxconsole.schema import wire
from maxconsole.session.machine import Badge
from maxconsole.session.results import Answer, Wall
from maxconsole.session.sampling import GREEDY, Sampling
from maxconsole.telemetry.kernels import KernelFold

HELLO = wire.Hello(
    protocol=1,
    flags=1,
    schema_hash=0,
    counter_hz=2_400_000_000,
    build_id=bytes(20),
    cores=4,
    counters=6,
    max_batch=64,
    counter_events=(3, 4, 0x17, 0x16, 0, 0),
    image_crc=0,
    context=512,
    prompt_max=1,
    vocabulary=1,
    board="aimax395-virtual",
    model="m",
)
KV = wire.KvState(
    capacity=640,
    context=512,
    sinks=4,
    length=700,
    start=100,
    end=92,
    wraps=1,
    page_tokens=32,
    bytes_per_token=12240,
    map_entries=20,
    map_lookups=1234,
    map_accesses=1000,
    map_refills=5,
)


def answer() -> Answer:
    fold = KernelFold()
    step = {"core": 0, "phase": wire.Phase.DECODE, "count": 10, "instructions": 2_000_000}
    totals = [
        wire.KernelTotal(kernel=wire.Kernel.STEP, cycles=1_000_000, work=10, counters=(), **step),
        wire.KernelTotal(
            kernel=wire.Kernel.LINEAR_UP, cycles=900_000, work=10_000_000, counters=(10, 1000, 1, 4), **step
        ),
    ]
    fold.add_totals(b"".join(total.pack() for total in totals))
    return Answer(
        text="x",
        tokens=tuple(range(11)),
        logprobs=(0.0,) * 11,
        reason="limit",
        prompt_tokens=30,
        int8=False,
        npu="off",
        npu_f16=False,
        attention="default",
        cached_tokens=10,
        prefill_cycles=2_400_000_000,
        decode_cycles=1_200_000_000,
        counter_hz=HELLO.counter_hz,
        counter_events=HELLO.counter_events,
        badge=Badge(modelled=True, model_version=3),
        sampling=GREEDY,
        wall=Wall(4.0, 9.0),
        kernels=fold.table(),
        npu_jobs={},
        kv=KV,
        dropped_events=0,
        lost_frames=0,
    )


def test_the_figures_are_those_of_the_answer() -> None:
    assert answer_lines(answer(), HELLO) == [
        "phase   kernel           count   cycles  share %   IPC  L1D refill %  L2 refill %  instr/MAC",
        "------  ---------------  -----  -------  -------  ----  ------------  -----------  ---------",
        "decode  linear_up           10  900 000     90.0  2.22          1.00         25.0      0.200",
        "decode  between kernels     10  100 000     10.0     -             -            -          -",
        "",
        "KV ring 640 of 640 slots, start 100, end 92, 1 wrap, 12.0 KiB a token; "
        "index map 20 entries, 1 234 look-ups, 99.50 % L1D hits",
        "prefill 20.0 tokens/s on the board, 5.0 on this host's clock (20 tokens, 10 more were cached)",
        "decode  20.0 tokens/s on the board, 2.0 on this host's clock (10 steps)",
        "ended by limit after 11 tokens",
        "MODELLED (timing model 3): aimax395-virtual, 1 of 4 cores at 2.4 GHz",
    ]


def test_what_is_missing_or_needed_for_a_repetition_is_said() -> None:
    changed = dataclasses.replace(answer(), dropped_events=1500, sampling=Sampling(seed=7), kv=None)
    lines = answer_lines(changed, HELLO)
    assert lines[-2] == ("ended by limit after 11 tokens, seed 7, 1 500 kernel events dropped (totals are complete)")
    lost = dataclasses.replace(answer(), lost_frames=1)
    assert answer_lines(lost, HELLO)[-2].endswith("1 frame lost")


def test_a_board_that_counts_nothing_shows_dashes() -> None:
    untimed = dataclasses.replace(answer(), prefill_cycles=0, decode_cycles=0, badge=Badge(modelled=True, timing="off"))
    lines = answer_lines(untimed, HELLO)
    assert any(line.startswith("prefill - tokens/s on the board") for line in lines)
    assert lines[-1].startswith("UNTIMED")
