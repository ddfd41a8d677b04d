# SPDX-License-Identifier: Apache-2.0
"""A board that speaks the protocol and answers from a script, for what the real firmware will not do on demand."""

from __future__ import annotations

import queue
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from gguf_files import MARKS

from maxconsole.errors import BoardError
from maxconsole.link.frames import Decoder, Frame, encode_frame
from maxconsole.link.transport import MemoryAccess, Transport
from maxconsole.schema import wire
from maxconsole.session.machine import Badge, StoppedCore
from maxconsole.session.session import Session

Message = tuple[wire.MessageType, bytes]
Script = Callable[["ScriptedBoard", wire.Generate], Iterator[Message]]

HELLO = wire.Hello(
    protocol=wire.PROTOCOL_VERSION,
    flags=wire.HelloFlag.MODELLED | wire.HelloFlag.MODEL_LOADED,
    schema_hash=wire.SCHEMA_HASH,
    counter_hz=1_000_000_000,
    build_id=bytes(range(20)),
    cores=1,
    counters=6,
    max_batch=64,
    counter_events=(3, 4, 0x17, 0x16, 0x24, 8),
    image_crc=0x1234,
    context=128,
    prompt_max=32768,
    vocabulary=1000,
    board="scripted",
    model="script",
)


def tokens_of(text: str | bytes) -> tuple[int, ...]:
    """Byte-level tokens of the tiny model."""
    data = text.encode() if isinstance(text, str) else text
    return tuple(len(MARKS) + byte for byte in data)


def totals(phase: wire.Phase, steps: int, cycles: int) -> Message:
    """What a board says of its work so far: one kernel that takes three quarters of the steps."""
    records = [
        wire.KernelTotal(
            kernel=kernel, core=0, phase=phase, count=steps, cycles=c, instructions=2 * c, work=c, counters=()
        )
        for kernel, c in ((wire.Kernel.STEP, cycles), (wire.Kernel.LINEAR_UP, cycles * 3 // 4))
    ]
    return wire.MessageType.TOTALS, b"".join(record.pack() for record in records)


@dataclass
class ScriptedBoard:
    """Transport and Machine in one. `script` yields what GENERATE causes, one message a read; `totals` is the payload
    of the last TOTALS among them.
    """

    script: Script
    ring_capacity: int = 160
    reply_tokens: tuple[int, ...] = (65, 66, 67)
    generate_status: wire.ReplyStatus = wire.ReplyStatus.OK
    dead: bool = False
    haltable: bool = True
    silent: bool = False
    log: str = ""
    hello: wire.Hello | None = HELLO
    commands: list[Frame] = field(default_factory=list)
    prompt: list[int] = field(default_factory=list)
    kv_length: int = 0
    totals: bytes = b""
    cancelled: bool = False
    closed: int = 0
    halted: bool = False

    def __post_init__(self) -> None:
        self._outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._running: Iterator[Message] | None = None
        self._decoder = Decoder()
        self._seq = 0
        if self.hello is not None:
            self.emit(wire.MessageType.HELLO, self.hello.pack())
            self._kv_state()

    def emit(self, type_: wire.MessageType, payload: bytes) -> None:
        """Sends a message to the console."""
        self._outgoing.put(encode_frame(type_, self._seq & 0xFFFF, payload))
        self._seq += 1

    def read(self, timeout: float, /) -> bytes:
        if self._running is not None:
            message = next(self._running, None)
            if message is None:
                self._running = None
            else:
                if message[0] == wire.MessageType.TOTALS:
                    self.totals = message[1]
                if message[1]:
                    self.emit(*message)
        try:
            return self._outgoing.get(timeout=min(timeout, 0.005))
        except queue.Empty:
            return b""

    def write(self, data: bytes, /) -> None:
        for item in self._decoder.feed(data):
            assert isinstance(item, Frame)
            self.commands.append(item)
            if not self.silent:
                self._handle(item)

    def close(self) -> None:
        self.closed += 1

    @property
    def memory(self) -> MemoryAccess:
        raise NotImplementedError

    @property
    def badge(self) -> Badge:
        return Badge(modelled=True, model_version=7)

    def transport(self, timeout: float) -> Transport:
        return self

    def check(self) -> None:
        if self.dead:
            raise BoardError("the emulator has ended")

    def halt(self) -> tuple[StoppedCore, ...]:
        if not self.haltable:
            raise BoardError("no probe")
        self.halted = True
        return (StoppedCore(0, 0x84000010, (0x84000020,)), StoppedCore(1, 0x84000030))

    def uart_text(self) -> str:
        return self.log

    def _handle(self, frame: Frame) -> None:
        status = wire.ReplyStatus.OK
        if frame.type == wire.MessageType.PROMPT_PART:
            offset = wire.PromptPart.unpack(frame.payload).offset
            assert offset in (0, len(self.prompt))
            self.prompt = self.prompt[:offset] + list(wire.PromptPart.unpack(frame.payload).tail)
        elif frame.type == wire.MessageType.GENERATE:
            status = self.generate_status
            if status == wire.ReplyStatus.OK:
                command = wire.Generate.unpack(frame.payload)
                assert command.prompt_tokens == len(self.prompt)
                self.cancelled = False
                self._running = self.script(self, command)
        elif frame.type == wire.MessageType.CANCEL:
            self.cancelled = True
        elif frame.type == wire.MessageType.QUERY:
            self._query(wire.Query.unpack(frame.payload).item)
        elif frame.type == wire.MessageType.RESET_KV:
            self.kv_length = 0
        reply = wire.Reply(command=frame.type, status=status, command_seq=frame.seq, value=0)
        self.emit(wire.MessageType.REPLY, reply.pack())

    def _query(self, item: int) -> None:
        if item == wire.QueryItem.KV_STATE:
            self._kv_state()
        elif item == wire.QueryItem.HELLO and self.hello is not None:
            asked = replace(self.hello, flags=self.hello.flags | wire.HelloFlag.ANSWER)
            self.emit(wire.MessageType.HELLO, asked.pack())
        elif item == wire.QueryItem.TOTALS:
            self.emit(wire.MessageType.TOTALS, self.totals)
        elif item == wire.QueryItem.STATUS:
            status = struct.pack("<QQQIIQQ", 1, 2, 3, 1, 0, 0, 0)
            self.emit(wire.MessageType.STATUS, status)

    def _kv_state(self) -> None:
        state = wire.KvState(
            capacity=self.ring_capacity,
            context=128,
            sinks=4,
            length=self.kv_length,
            start=0,
            end=self.kv_length % self.ring_capacity,
            wraps=self.kv_length // self.ring_capacity,
            page_tokens=32,
            bytes_per_token=100,
            map_entries=5,
            map_lookups=0,
            map_accesses=0,
            map_refills=0,
        )
        self.emit(wire.MessageType.KV_STATE, state.pack())


#: The fixture `connect`, see conftest.py.
Connect = Callable[..., tuple[Session, ScriptedBoard]]


def done(command: wire.Generate, generated: int, reason: wire.DoneReason) -> Message:
    return wire.MessageType.DONE, wire.Done(
        request=command.request,
        reason=reason,
        int8=0,
        npu=0,
        npu_f16=0,
        attention=0,
        prompt_tokens=command.prompt_tokens,
        cached_tokens=command.keep,
        generated_tokens=generated,
        prefill_cycles=2_000_000_000,
        decode_cycles=1_000_000_000,
    ).pack()


def token(command: wire.Generate, token_id: int) -> Message:
    return wire.MessageType.TOKEN, wire.Token(request=command.request, position=0, token=token_id, logprob=-0.5).pack()


def answering(board: ScriptedBoard, command: wire.Generate) -> Iterator[Message]:
    """Says the board's reply tokens and stops."""
    board.kv_length = command.keep + command.prompt_tokens
    for number in board.reply_tokens:
        yield token(command, number)
    board.kv_length += max(0, len(board.reply_tokens) - 1)
    yield totals(wire.Phase.DECODE, 2 * command.request, 1000 * command.request)
    yield done(command, len(board.reply_tokens), wire.DoneReason.STOP_TOKEN)


def endless(board: ScriptedBoard, command: wire.Generate) -> Iterator[Message]:
    """Goes on until it is cancelled."""
    count = 0
    while not board.cancelled:
        count += 1
        yield token(command, 65 + count % 26)
    board.kv_length = command.keep + command.prompt_tokens + count
    yield done(command, count, wire.DoneReason.CANCELLED)


def hanging(board: ScriptedBoard, command: wire.Generate) -> Iterator[Message]:
    """Says one token and then nothing, whatever it is asked."""
    yield token(command, 65)
    board.silent = True


def faulting(board: ScriptedBoard, command: wire.Generate) -> Iterator[Message]:
    """Says one token and reports an exception."""
    yield token(command, 65)
    yield (
        wire.MessageType.FAULT,
        wire.Fault(
            kind=wire.FaultKind.EXCEPTION,
            core=2,
            backtrace_count=1,
            esr=0x96000045,
            far=0xDEAD0000,
            elr=0x84000010,
            spsr=0x3C5,
            sp=0x84070000,
            x=(0,) * 31,
            backtrace=(0x84000020,),
            tail=b"data abort \x1b[31m",
        ).pack(),
    )


def restarting(board: ScriptedBoard, command: wire.Generate) -> Iterator[Message]:
    """Says HELLO in the middle of a request."""
    yield token(command, 65)
    yield wire.MessageType.HELLO, HELLO.pack()
