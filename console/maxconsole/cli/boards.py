# SPDX-License-Identifier: Apache-2.0
"""`maxconsole boards`: which boards there are, and what is known about each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from maxconsole.boards import DEFAULT_BOARD, Board, list_boards, load_board
from maxconsole.boards.events import EventMeaning, events_of
from maxconsole.cli import options, style
from maxconsole.cli.shell import print_json, print_lines

app = options.verb()


@app.command(
    epilog="Examples: maxconsole boards; maxconsole boards rpi5-virtual; maxconsole boards rpi5 --json;"
    " maxconsole boards --events",
)
def boards(
    name: Annotated[str | None, typer.Argument(help="A shipped board, or a profile's path.")] = None,
    events: Annotated[bool, typer.Option("--events", help="What the board's PMU counters can count.")] = False,
    as_json: options.Json = False,
) -> None:
    """List the boards, or show one in full, with where each value comes from."""
    if events:
        known = list(events_of(load_board(name or DEFAULT_BOARD)).values())
        print_json([_plain(one) for one in known]) if as_json else print_lines(_events(known))
    elif name is None:
        found = [load_board(one) for one in list_boards()]
        print_json([_summary(board) for board in found]) if as_json else print_lines(_listing(found))
    else:
        board = load_board(name)
        print_json(_plain(board)) if as_json else print_lines(_details(board))


def _summary(board: Board) -> dict[str, Any]:
    return {
        "name": board.name,
        "title": board.title,
        "summary": board.summary,
        "default": board.name == DEFAULT_BOARD,
        "virtual": board.virtual is not None,
        "cores": board.cpu.cores,
        "clock_hz": board.cpu.clock_hz,
        "ram_bytes": sum(part.size_bytes for part in board.memory.ram),
    }


def _listing(found: list[Board]) -> list[str]:
    rows = [
        (
            board.name + (" *" if board.name == DEFAULT_BOARD else ""),
            "virtual" if board.virtual else "hardware",
            str(board.cpu.cores),
            style.quantity(board.cpu.clock_hz, "Hz") if board.cpu.clock_hz else "unknown",
            style.size(sum(part.size_bytes for part in board.memory.ram)),
            board.title,
        )
        for board in found
    ]
    header = ("board", "kind", "cores", "clock", "RAM", "")
    return [*style.table(header, rows, text=(0, 1, 5)), "", "* the default"]


def _events(known: list[EventMeaning]) -> list[str]:
    rows = [(one.name, f"{one.number:#04x}", one.meaning) for one in known]
    return style.table(("event", "number", "what it counts"), rows, text=(0, 2))


def _details(board: Board) -> list[str]:
    """Every value of the profile, and how far it can be trusted."""
    numbers: dict[str, int] = {}
    rows = []
    for key, value in _values(board):
        origin = board.origin(key)
        number = numbers.setdefault(origin.source, len(numbers) + 1)
        rows.append((key, value, "unknown" if value == "unknown" else origin.status, f"[{number}]"))
    sources = [f"[{number}] {source}" for source, number in numbers.items()]
    lines = style.table(("key", "value", "status", "source"), rows, text=(0, 1, 2, 3))
    return [f"{board.name}: {board.summary}", f"profile: {board.file}", "", *lines, "", *sources]


def _values(board: Board) -> list[tuple[str, str]]:
    shown = [field for field in fields(board) if field.name not in _IDENTITY]
    return [
        pair
        for field in shown
        if not (field.name in _OPTIONAL and getattr(board, field.name) is None)
        for pair in _flatten(field.name, getattr(board, field.name))
    ]


def _flatten(key: str, value: Any) -> list[tuple[str, str]]:
    if is_dataclass(value) and not isinstance(value, type) and type(value).__name__ not in _SHORT:
        return [pair for field in fields(value) for pair in _flatten(f"{key}.{field.name}", getattr(value, field.name))]
    if isinstance(value, tuple):
        return [(f"{key}[{index}]", _short(one, key)) for index, one in enumerate(value)] or [(key, "none")]
    return [(key, _short(value, key))]


#: What the heading says already, and what is no value of the board.
_IDENTITY: Final = frozenset({"file", "name", "title", "summary", "hal", "provenance"})
#: Keys of addresses and of core ids.
_ADDRESS: Final = re.compile(r"(base|device_page|distributor|cpu_interface|bases|core_ids)$")
#: Tables that a board may have none of.
_OPTIONAL: Final = frozenset({"npu", "virtual"})
#: Small records that are shown in one piece.
_SHORT: Final[dict[str, Callable[[Any], str]]] = {
    "MemoryRange": str,
    "NpuRate": lambda one: f"{one.formats} {style.quantity(one.macs_per_s, 'MAC/s')}",
    "PmuEvent": lambda one: f"{one.name} ({one.number:#04x})",
}


def _short(value: Any, key: str) -> str:
    if value is None:
        return "unknown"
    if type(value).__name__ in _SHORT:
        return _SHORT[type(value).__name__](value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(value, key)
    return str(value)


def _number(value: int, key: str) -> str:
    if key.endswith("_bytes"):
        return style.size(value)
    if key.endswith("_hz"):
        return style.quantity(value, "Hz")
    if key.endswith("bytes_per_s"):
        return style.quantity(value, "B/s")
    return hex(value) if _ADDRESS.search(key) else style.count(value)


def _plain(value: Any) -> Any:
    """Dataclasses as dicts, tuples as lists, paths as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value
