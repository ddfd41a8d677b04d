# SPDX-License-Identifier: Apache-2.0
"""Which struct of the schema travels under which message type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from maxconsole.link.frames import Counters, Frame, Item, Text, Unfinished
from maxconsole.schema import wire

#: What a board sends, apart from KERNELS, TOTALS and NPU_EVENTS.
FromBoard: TypeAlias = (
    wire.Hello
    | wire.Log
    | wire.Token
    | wire.KvState
    | wire.Progress
    | wire.Reply
    | wire.Fault
    | wire.Done
    | wire.Status
    | wire.Logits
    | wire.Pools
)

#: Commands with a payload. RESET_KV has none.
ToBoard: TypeAlias = (
    wire.PromptPart
    | wire.Generate
    | wire.Cancel
    | wire.Set
    | wire.SelectEvents
    | wire.Query
    | wire.Checksum
    | wire.Ping
    | wire.LogitsNext
)

_FROM_BOARD: Final[dict[int, type[FromBoard]]] = {
    wire.MessageType.HELLO: wire.Hello,
    wire.MessageType.LOG: wire.Log,
    wire.MessageType.TOKEN: wire.Token,
    wire.MessageType.KV_STATE: wire.KvState,
    wire.MessageType.PROGRESS: wire.Progress,
    wire.MessageType.REPLY: wire.Reply,
    wire.MessageType.FAULT: wire.Fault,
    wire.MessageType.DONE: wire.Done,
    wire.MessageType.STATUS: wire.Status,
    wire.MessageType.LOGITS: wire.Logits,
    wire.MessageType.POOLS: wire.Pools,
}

_TO_BOARD: Final[dict[type[ToBoard], wire.MessageType]] = {
    wire.PromptPart: wire.MessageType.PROMPT_PART,
    wire.Generate: wire.MessageType.GENERATE,
    wire.Cancel: wire.MessageType.CANCEL,
    wire.Set: wire.MessageType.SET,
    wire.Query: wire.MessageType.QUERY,
    wire.Checksum: wire.MessageType.CHECKSUM,
    wire.Ping: wire.MessageType.PING,
    wire.LogitsNext: wire.MessageType.LOGITS_NEXT,
    wire.SelectEvents: wire.MessageType.SELECT_EVENTS,
}


#: Types that carry a run of records and come in numbers: telemetry reads them with numpy, a whole chunk at once.
_RECORD_BYTES: Final[dict[int, int]] = {
    wire.MessageType.KERNELS: wire.KernelEvent.SIZE,
    wire.MessageType.TOTALS: wire.KernelTotal.SIZE,
    wire.MessageType.NPU_EVENTS: wire.NpuEvent.SIZE,
}

#: What a chunk consists of: KERNELS, TOTALS and NPU_EVENTS as they came, every other message decoded, and text.
#: `Unfinished` stands alone, when nothing has come for a while.
News: TypeAlias = Frame | FromBoard | Text | Unfinished


def interpret(items: Iterable[Item], counters: Counters) -> list[News]:
    """The messages in `items`, in order. Frames of no known type or layout are counted and left out."""
    news: list[News] = []
    for item in items:
        if isinstance(item, Text):
            news.append(item)
        elif record_bytes := _RECORD_BYTES.get(item.type):
            if len(item.payload) % record_bytes:
                counters.malformed_frames += 1
            else:
                news.append(item)
        elif cls := _FROM_BOARD.get(item.type):
            try:
                news.append(cls.unpack(item.payload))
            except ValueError:
                counters.malformed_frames += 1
        else:
            counters.unknown_frames += 1
    return news


def type_of(message: ToBoard) -> wire.MessageType:
    """The type that a command travels under."""
    return _TO_BOARD[type(message)]
