# SPDX-License-Identifier: Apache-2.0
"""What an answer cost: a line for each kernel, the KV ring, the rates and where the figures come from; or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from maxconsole.boards.ranges import show_bytes
from maxconsole.cli.style import count, fixed, percent, quantity, table
from maxconsole.schema import wire
from maxconsole.session.about import About
from maxconsole.session.results import Answer
from maxconsole.telemetry.report import KernelRow

_HEADER = ("phase", "kernel", "count", "cycles", "share %", "IPC", "L1D refill %", "L2 refill %", "instr/MAC")


def document(about: About, answers: Sequence[Answer]) -> dict[str, Any]:
    """A single answer, or the answers of a conversation, as JSON."""
    if len(answers) == 1:
        return {"setup": asdict(about), "answer": answers[0].to_json()}
    return {"setup": asdict(about), "answers": [answer.to_json() for answer in answers]}


def answer_lines(answer: Answer, hello: wire.Hello, events: Mapping[int, str] = MappingProxyType({})) -> list[str]:
    """Everything: for the end of `maxconsole ask`. `events` get a column each, under the name that they have there."""
    header = (*_HEADER, *(name.lower() for name in events.values()))
    rows = [(*_cells(row), *(_event_cell(row, event) for event in events)) for row in answer.rows]
    lines = table(header, rows, text=(0, 1)) if rows else []
    return [*lines, "", *summary_lines(answer, hello)]


def summary_lines(answer: Answer, hello: wire.Hello) -> list[str]:
    """The same without the kernels."""
    return [
        *([kv_line(answer.kv)] if answer.kv is not None else []),
        _rate_line(
            "prefill",
            f"{answer.prefilled_tokens} tokens, {answer.cached_tokens} more were cached",
            answer.prefill_rate,
            answer.wall_prefill_rate,
        ),
        _rate_line("decode ", f"{answer.decode_steps} steps", answer.decode_rate, answer.wall_decode_rate),
        _end_line(answer),
        _source_line(answer, hello),
    ]


def kv_line(kv: wire.KvState) -> str:
    """Where the KV ring stands, and what its index map costs."""
    line = (
        f"KV ring {min(kv.length, kv.capacity)} of {kv.capacity} slots, start {kv.start}, end {kv.end}, "
        f"{_plural(kv.wraps, 'wrap')}, {show_bytes(kv.bytes_per_token)} a token; "
        f"index map {_plural(kv.map_entries, 'entry', 'entries')}, {count(kv.map_lookups)} look-ups"
    )
    hits = None if not kv.map_accesses else 1 - kv.map_refills / kv.map_accesses
    return line if hits is None else f"{line}, {percent(hits, 2)} % L1D hits"


def _cells(row: KernelRow) -> tuple[str, ...]:
    return (
        row.phase,
        row.kernel,
        count(row.count),
        count(row.cycles),
        percent(row.share),
        fixed(row.ipc),
        percent(row.l1d_refill, 2),
        percent(row.l2_refill),
        fixed(row.instructions_per_mac, 3),
    )


def _event_cell(row: KernelRow, event: int) -> str:
    counted = row.counters.get(f"{event:#04x}")
    return "-" if counted is None else count(counted)


def _rate_line(phase: str, amount: str, board: float | None, host: float | None) -> str:
    return f"{phase} {fixed(board, 1)} tokens/s on the board, {fixed(host, 1)} on this host's clock ({amount})"


def _end_line(answer: Answer) -> str:
    """How it ended, and whether anything is missing in the figures."""
    parts = [f"ended by {answer.reason} after {_plural(len(answer.tokens), 'token')}"]
    if answer.route:
        parts.append(answer.route)
    if answer.sampling.temperature:
        parts.append(f"seed {answer.sampling.seed}")
    if answer.dropped_events:
        parts.append(f"{count(answer.dropped_events)} kernel events dropped (totals are complete)")
    lost = answer.lost_frames
    if lost and not answer.dropped_events:
        parts.append(f"{_plural(lost, 'frame')} lost")
    return ", ".join(parts)


def _source_line(answer: Answer, hello: wire.Hello) -> str:
    """Where the figures come from."""
    cores = len({core for _, core, _ in answer.kernels.cells()})
    return f"{answer.badge}: {hello.board}, {cores} of {hello.cores} cores at {quantity(hello.counter_hz, 'Hz')}"


def _plural(number: int, one: str, many: str = "") -> str:
    return f"{count(number)} {one if number == 1 else many or one + 's'}"
