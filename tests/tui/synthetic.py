# SPDX-License-Identifier: Apache-2.0
"""A made-up board that reports like a real one: frames of kernel events, folded by the real telemetry.

Numbers are drawn with a fixed seed, so that every run draws the same screens.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from maxconsole.link.frames import Counters, Frame
from maxconsole.link.messages import FromBoard
from maxconsole.schema import wire
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import Snapshot

K = wire.Kernel
LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, HEAD, VOCABULARY = 30, 576, 1536, 9, 3, 64, 49152
HERTZ = 2_400_000_000
LINEAR = {
    K.LINEAR_Q: HIDDEN * HEADS * HEAD,
    K.LINEAR_K: HIDDEN * KV_HEADS * HEAD,
    K.LINEAR_V: HIDDEN * KV_HEADS * HEAD,
    K.LINEAR_O: HIDDEN * HEADS * HEAD,
    K.LINEAR_GATE: HIDDEN * FFN,
    K.LINEAR_UP: HIDDEN * FFN,
    K.LINEAR_DOWN: HIDDEN * FFN,
}
PAGE, SINKS, BATCH = 32, 4, 64
COUNTER_EVENTS = (0x03, 0x04, 0x17, 0x16, 0x24, 0x08)
LOG = (
    (wire.LogLevel.INFO, b"engine 0.1, 4 cores at EL1, MMU and caches on"),
    (wire.LogLevel.INFO, b"WEIGHT 92.9 MiB, ACTIVATION 1.9 MiB, KV_CACHE 7.5 MiB"),
    (wire.LogLevel.WARNING, b"PMU event 0x24 is not counted here"),
    (wire.LogLevel.DEBUG, b"index map of 11 pages at 0x84a10040"),
    (wire.LogLevel.ERROR, b"odd bytes \x1b[31m in a line"),
)


class Shape(NamedTuple):
    """How a kernel behaves: work an instruction, instructions a cycle, and refills an access of both levels."""

    work: float
    ipc: float
    l1d: float
    l2: float


ROWS = {  # kernels of a layer that do the same work for each token, in a layer's order around the matrices
    K.RMS_NORM: (2 * HIDDEN, Shape(1.2, 2.3, 0.01, 0.1)),
    K.QUANTISE: (2 * HIDDEN, Shape(2.1, 2.6, 0.008, 0.1)),
    K.KV_CACHE_UPDATE: (2 * KV_HEADS * HEAD, Shape(0.8, 1.9, 0.012, 0.2)),
    K.SWIGLU: (FFN, Shape(0.7, 2.0, 0.01, 0.2)),
    K.RESIDUAL: (2 * HIDDEN, Shape(2.0, 2.4, 0.01, 0.1)),
}


#: Kernels that all cores work on; the rest is done by the first.
SHARED = {*LINEAR, K.ATTENTION, K.HEAD}
#: What a core waits for the others; boards that know no such event leave it out.
WAIT = next((kernel for kernel in K if kernel.name == "WAIT"), None)


class _Where(NamedTuple):
    phase: wire.Phase
    layer: int


class SyntheticBoard:
    """`ask` runs a prompt and an answer step by step; after each, `snapshot` is what the console would see."""

    def __init__(
        self, *, seed: int = 7, context: int = 256, counters: tuple[int, ...] = COUNTER_EVENTS, cores: int = 1
    ) -> None:
        """`counters` are the events that are counted. Of several `cores` all share the kernels of SHARED."""
        self.telemetry = Telemetry()
        self.events: list[wire.KernelEvent] = []  # everything sent, for independent sums
        self.length = 0
        self._random = random.Random(seed)
        self._counters = Counters()
        self._context = context
        self._turning = -(-(context - SINKS + BATCH) // PAGE) * PAGE
        self._lookups = self._cycles = self._begin = self._step = self._request = 0
        self._cores = cores
        self._counted = counters
        self._send(hello(context, counters))
        self._send(*(wire.Log(level=level, tail=text) for level, text in LOG))
        self._send(self._kv())

    def snapshot(self) -> Snapshot:
        return self.telemetry.snapshot()

    def ask(self, prompt: int, answer: int) -> Iterator[int]:
        """Yields the prompt tokens done, then minus the number of answer tokens made."""
        self._request += 1
        begin, left = self._cycles, prompt
        while left:
            tokens = min(BATCH, left)
            left -= tokens
            self._run(wire.Phase.PREFILL, tokens)
            self._send(wire.Progress(request=self._request, done=prompt - left, total=prompt))
            yield prompt - left
        middle = self._cycles
        for made in range(1, answer + 1):
            self._run(wire.Phase.DECODE, 1)
            self._send(wire.Token(request=self._request, position=self.length, token=17, logprob=-0.5))
            yield -made
        self._send(self._done(prompt, answer, middle - begin, self._cycles - middle), status(self._cycles))

    def send_totals(self, *totals: wire.KernelTotal) -> None:
        """As a board does that sends no single events."""
        payload = b"".join(total.pack() for total in totals)
        self.telemetry.accept([Frame(wire.MessageType.TOTALS, 0, 0, payload)], self._counters)

    def _done(self, prompt: int, answer: int, prefill: int, decode: int) -> wire.Done:
        return wire.Done(
            request=self._request,
            reason=wire.DoneReason.STOP_TOKEN,
            int8=0,
            npu=0,
            npu_f16=0,
            attention=0,
            prompt_tokens=prompt,
            cached_tokens=0,
            generated_tokens=answer,
            prefill_cycles=prefill,
            decode_cycles=decode,
        )

    def _send(self, *messages: FromBoard) -> None:
        self._counters.bytes += 90 * len(messages)
        self._counters.frames += len(messages)
        self.telemetry.accept(messages, self._counters)

    def _run(self, phase: wire.Phase, tokens: int) -> None:
        """One prefill batch or one decode step."""
        begin, first = self._cycles, len(self.events)
        self._begin = begin
        decode = phase is wire.Phase.DECODE
        where = _Where(phase, wire.NO_LAYER)
        self._kernel(where, K.EMBED, HIDDEN * tokens, Shape(4.0, 1.4, 0.03, 0.6))
        for layer in range(LAYERS):
            self._layer(_Where(phase, layer), tokens, decode=decode)
        if decode:
            self._kernel(where, K.HEAD, HIDDEN * VOCABULARY, Shape(9.0, 1.7, 0.04, 0.8))
            self._kernel(where, K.SAMPLE, VOCABULARY, Shape(1.0, 1.8, 0.05, 0.5))
        self._cycles += (self._cycles - begin) // 80
        instructions = sum(event.instructions for event in self.events[first:])
        self._event(where, K.STEP, tokens, (self._cycles - begin, instructions, (0,) * 6))
        self._step += 1
        self.length += tokens
        self._lookups += LAYERS * HEADS * -(-min(self.length, self._context) // PAGE)
        for at in range(first, len(self.events), 12):
            payload = b"".join(event.pack() for event in self.events[at : at + 12])
            self._counters.bytes += len(payload) + 12
            self._counters.frames += 1
            self.telemetry.accept([Frame(wire.MessageType.KERNELS, 0, 0, payload)], self._counters)
        self._send(self._kv())

    def _layer(self, where: _Where, tokens: int, *, decode: bool) -> None:
        for kernel, (work, shape) in ROWS.items():
            self._kernel(where, kernel, work * tokens, shape)
        for kernel, macs in LINEAR.items():
            shape = Shape(7.5, 1.9, 0.035, 0.55) if decode else Shape(13.2, 3.1, 0.004, 0.12)
            self._kernel(where, kernel, macs * tokens, shape)
        if not decode:
            self._kernel(where, K.DEQUANT, 3_500_000, Shape(6.0, 2.8, 0.06, 0.7))
        seen = max(1, min(self.length + tokens // 2, self._context))
        self._kernel(where, K.ATTENTION, 2 * HEADS * HEAD * tokens * seen, Shape(5.5, 2.2, 0.022, 0.31))

    def _kernel(self, where: _Where, kernel: K, work: int, shape: Shape) -> None:
        sharing = self._cores if kernel in SHARED else 1
        spent = [self._part(where, kernel, work // sharing, shape, core) for core in range(sharing)]
        spent += [0] * (self._cores - sharing)
        for core, cycles in enumerate(spent):
            if WAIT is not None and cycles < max(spent):
                self._event(where, WAIT, 0, (max(spent) - cycles, 0, (0,) * 6), core=core, after=cycles)
        self._cycles += max(spent)

    def _part(self, where: _Where, kernel: K, work: int, shape: Shape, core: int) -> int:
        """What one core does of a kernel, and the cycles that it takes."""
        instructions = max(40, int(work / shape.work))
        cycles = int(instructions / shape.ipc * self._random.uniform(0.97, 1.04))
        accesses = int(instructions * 0.4)
        refills = int(accesses * shape.l1d * self._random.uniform(0.8, 1.25))
        below = int(refills * shape.l2)
        happened = {
            0x03: refills,
            0x04: accesses,
            0x05: accesses // 900,
            0x08: instructions,
            0x16: refills,
            0x17: below,
            0x24: cycles // 4,
            0x25: accesses,
            0x34: accesses // 9000,
            0x2A: below // 2,
            0x60: 6 * below,  # beats of 16 bytes; of three lines two are demanded
            0x61: below,
            0xC000: cycles * 3 // 5,
        }
        self._event(
            where, kernel, work, (cycles, instructions, tuple(happened.get(one, 0) for one in self._counted)), core=core
        )
        return cycles

    def _event(
        self,
        where: _Where,
        kernel: K,
        work: int,
        cost: tuple[int, int, tuple[int, ...]],
        *,
        core: int = 0,
        after: int = 0,
    ) -> None:
        cycles, instructions, counters = cost
        self.events.append(
            wire.KernelEvent(
                kernel=kernel,
                core=core,
                layer=where.layer,
                phase=where.phase,
                step=self._step,
                instructions=instructions,
                start_cycles=(self._cycles if kernel is not K.STEP else self._begin) + after,
                cycles=cycles,
                work=work,
                counters=counters,
            )
        )

    def _kv(self) -> wire.KvState:
        def slot(position: int) -> int:
            return position if position < PAGE else PAGE + (position - PAGE) % self._turning

        capacity = PAGE + self._turning
        oldest = max(min(SINKS, self.length), self.length - (self._context - SINKS))
        return wire.KvState(
            capacity=capacity,
            context=self._context,
            sinks=SINKS,
            length=self.length,
            start=slot(oldest),
            end=slot(self.length),
            wraps=max(0, self.length - PAGE) // self._turning,
            page_tokens=PAGE,
            bytes_per_token=LAYERS * KV_HEADS * (2 * HEAD + 8),
            map_entries=capacity // PAGE,
            map_lookups=self._lookups,
            map_accesses=self._lookups,
            map_refills=self._lookups // 50,
        )


def hello(context: int, counters: tuple[int, ...] = COUNTER_EVENTS) -> wire.Hello:
    """A modelled board with the counters that the profiles choose."""
    return wire.Hello(
        protocol=wire.PROTOCOL_VERSION,
        flags=wire.HelloFlag.MODELLED | wire.HelloFlag.MODEL_LOADED,
        schema_hash=wire.SCHEMA_HASH,
        counter_hz=HERTZ,
        build_id=bytes(range(20)),
        cores=4,
        counters=6,
        max_batch=BATCH,
        counter_events=counters,
        image_crc=1,
        context=context,
        prompt_max=32768,
        vocabulary=VOCABULARY,
        board="synthetic",
        model="made-up-135M",
    )


def status(cycles: int, dropped: int = 0) -> wire.Status:
    """The board's own account."""
    return wire.Status(
        cycles=cycles,
        bytes_sent=0,
        dropped_events=dropped,
        dropped_batches=0,
        bad_frames=0,
        telemetry_cycles=cycles // 300,
        telemetry_events=0,
    )
