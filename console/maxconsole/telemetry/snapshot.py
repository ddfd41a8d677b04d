# SPDX-License-Identifier: Apache-2.0
"""What is known of a board at one moment, frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import IntEnum
from typing import Any, TypeAlias

from maxconsole.link.frames import Counters
from maxconsole.schema import wire
from maxconsole.telemetry.kernels import KernelTable
from maxconsole.telemetry.npu import NpuTable
from maxconsole.telemetry.steps import StepTrace

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line from the board, safe to print. `level` is a wire.LogLevel, or None for text outside frames.

    `arrived_ns` is the host's time at which the line was complete, after the first byte from the board.
    """

    level: int | None
    text: str
    arrived_ns: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that telemetry holds. Messages are the last of their kind, None before the first."""

    hello: wire.Hello | None
    kernels: KernelTable
    steps: Mapping[int, StepTrace]  # by wire.Phase: the single events of the last whole step
    kv: wire.KvState | None
    pools: tuple[wire.Pool, ...]
    status: wire.Status | None
    progress: wire.Progress | None
    done: wire.Done | None
    fault: wire.Fault | None
    log: tuple[LogLine, ...]
    log_lines: int  # since the link was opened; `log` has the newest
    tokens: int
    events: int  # kernel events received
    invalid_records: int  # with a kernel, phase or core that this console does not know
    link: Counters
    npu: NpuTable = field(default_factory=dict)  # the NPU's jobs by (phase, kernel)
    unfinished_line: str = ""  # text from outside frames without a line end so far, safe to print

    @property
    def dropped_events(self) -> int:
        """Kernel events that the board had no room for, as of its last STATUS."""
        return self.status.dropped_events if self.status else 0

    def to_json(self) -> Json:
        """Plain dicts, lists, numbers and text."""
        return {
            "board": None if self.hello is None else hello_json(self.hello),
            "kernels": kernels_json(self.kernels),
            "npu": npu_json(self.npu),
            "steps": {name_of(wire.Phase, phase): one.to_json() for phase, one in self.steps.items()},
            "kv": _message_json(self.kv),
            "pools": [_message_json(pool) for pool in self.pools],
            "status": _message_json(self.status),
            "progress": _message_json(self.progress),
            "done": _message_json(self.done),
            "fault": _message_json(self.fault),
            "log": [{**asdict(line), "level": name_of(wire.LogLevel, line.level)} for line in self.log],
            "unfinished_line": self.unfinished_line,
            "tokens": self.tokens,
            "events": self.events,
            "invalid_records": self.invalid_records,
            "dropped_events": self.dropped_events,
            "link": asdict(self.link),
        }


def hello_json(hello: wire.Hello) -> Json:
    """A HELLO with its bytes as hexadecimal text and its flags as truth values."""
    flags = wire.HelloFlag(hello.flags)
    return {
        **(_message_json(hello) or {}),
        "build_id": hello.build_id.hex(),
        "modelled": wire.HelloFlag.MODELLED in flags,
        "model_loaded": wire.HelloFlag.MODEL_LOADED in flags,
    }


def kernels_json(table: KernelTable) -> Sequence[Json]:
    """One entry for every phase, core and kernel that ran."""
    return [
        {
            "phase": name_of(wire.Phase, phase),
            "core": core,
            "kernel": name_of(wire.Kernel, kernel),
            **asdict(table.sums(phase, kernel, core)),
        }
        for phase, core, kernel in table.cells()
    ]


def npu_json(table: NpuTable) -> Sequence[Json]:
    """One entry for every phase and kernel of which the NPU had jobs."""
    return [
        {"phase": name_of(wire.Phase, phase), "kernel": name_of(wire.Kernel, kernel), **asdict(sums)}
        for (phase, kernel), sums in sorted(table.items())
    ]


def name_of(enumeration: type[IntEnum], value: int | None) -> str | None:
    """The schema's name of `value`; the number as text when this console does not know it."""
    if value is None:
        return None
    try:
        return enumeration(value).name.lower()
    except ValueError:
        return str(value)


def _message_json(message: Any) -> Json | None:
    if message is None:
        return None
    values = {field.name: getattr(message, field.name) for field in fields(message)}
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in values.items()
    }
