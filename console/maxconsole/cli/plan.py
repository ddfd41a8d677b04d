# SPDX-License-Identifier: Apache-2.0
"""`maxconsole plan`: what goes where in a board's memory."""

from __future__ import annotations

from typing import Any

from maxconsole.boards import DEFAULT_BOARD, Plan, load_board
from maxconsole.boards import plan as make_plan
from maxconsole.boards.memory_model import kv_bytes_per_token
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.boards.ranges import MemoryRange
from maxconsole.cli import options, style
from maxconsole.cli.shell import print_json, print_lines
from maxconsole.session.model import open_model

app = options.verb()


@app.command(
    epilog="Examples: maxconsole plan smollm2.gguf --board aimax395-virtual --context 1024; maxconsole plan --json",
)
def plan(
    *,
    model: options.ModelFile = None,
    board: options.Board = DEFAULT_BOARD,
    context: options.Context = DEFAULT_CONTEXT,
    batch: options.Batch = DEFAULT_BATCH,
    as_json: options.Json = False,
) -> None:
    """Say what goes where in a board's memory, or why it does not fit (exit code 5) and what would."""
    planned = make_plan(load_board(board), open_model(model).facts, context, batch)
    print_json(document(planned)) if as_json else print_lines(lines(planned))


def document(planned: Plan) -> dict[str, Any]:
    """The plan as JSON."""
    facts = planned.facts
    return {
        "board": planned.board,
        "context": planned.context,
        "batch": planned.batch,
        "longest_context": planned.longest_context,
        "kv_bytes_per_token": None if facts is None else kv_bytes_per_token(facts),
        "image": _range(planned.image),
        "pools": [
            {"name": pool.name, "base": pool.base, "bytes": pool.size_bytes, "used": pool.used_bytes}
            for pool in planned.all_pools
        ],
        "free": [_range(part) for part in planned.free],
        "free_bytes": planned.free_bytes,
    }


def lines(planned: Plan) -> list[str]:
    """The plan as a table."""
    rows: list[tuple[str, int, int, int | None]] = [("firmware", planned.image.base, planned.image.size_bytes, None)]
    rows += [(pool.name, pool.base, pool.size_bytes, pool.used_bytes) for pool in planned.all_pools]
    rows += [("free", part.base, part.size_bytes, None) for part in planned.free]
    cells = [
        (
            name,
            f"{base:#010x}",
            f"{base + size:#010x}",
            style.size(size),
            "" if used is None else style.size(used),
            "" if used is None else f"{style.percent(used / size)} %",
        )
        for name, base, size, used in sorted(rows, key=lambda row: row[1])
    ]
    text = [
        f"{planned.board}, context {planned.context}, batch {planned.batch}",
        "",
        *style.table(("region", "from", "to", "size", "used", ""), cells),
        "",
    ]
    if planned.facts is not None:
        per_token = style.size(kv_bytes_per_token(planned.facts))
        text.append(f"KV cache {per_token} a token; the longest context that fits is {planned.longest_context}")
    return text


def _range(part: MemoryRange) -> dict[str, int]:
    return {"base": part.base, "bytes": part.size_bytes}
