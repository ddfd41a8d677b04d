# SPDX-License-Identifier: Apache-2.0
"""`maxconsole flash`: firmware and weights into a board, started and verified."""

from __future__ import annotations

from dataclasses import asdict

from maxconsole.boards import DEFAULT_BOARD
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.boards.ranges import show_bytes
from maxconsole.cli import options, style
from maxconsole.cli.progress import reporter
from maxconsole.cli.shell import print_json, print_lines
from maxconsole.schema import wire
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup
from maxconsole.session.tuning import with_tuning
from maxconsole.session.verify import VerifiedRegion, verify
from maxconsole.telemetry.snapshot import hello_json

app = options.verb()


@app.command(epilog="Examples: maxconsole flash; maxconsole flash --board rpi5-virtual --model qwen2.gguf --json")
def flash(
    *,
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    context: options.Context = DEFAULT_CONTEXT,
    batch: options.Batch = DEFAULT_BATCH,
    tuning: options.Tuning = None,
    link: options.Link = None,
    as_json: options.Json = False,
) -> None:
    """Build, put firmware and weights into a board, start it, and let it confirm by checksum what it holds.

    A virtual board ends with this command; ask flashes its own.
    """
    setup = Setup(board=board, model=model, context=context, batch=batch, timing="off", link=options.transport(link))
    setup = with_tuning(setup, tuning)
    with reporter(silent=as_json) as progress, Session.open(setup, progress) as session:
        regions = verify(session.link, session.prepared, progress)
        hello, pools = session.hello, session.snapshot().pools
    if as_json:
        print_json({"board": hello_json(hello), "verified": [asdict(region) for region in regions]})
    else:
        print_lines(_lines(hello, regions, pools))


def _lines(hello: wire.Hello, regions: tuple[VerifiedRegion, ...], pools: tuple[wire.Pool, ...]) -> list[str]:
    verified = [
        (one.name, f"{one.address:#010x}", show_bytes(one.size_bytes), f"{one.crc32:08x}", "confirmed by the board")
        for one in regions
    ]
    used = [(pool.name, f"{pool.base:#010x}", show_bytes(pool.bytes), show_bytes(pool.used)) for pool in pools]
    return [
        f"{hello.board} runs build {hello.build_id.hex()[:12]} with {hello.model}",
        "",
        *style.table(("", "address", "size", "CRC-32", ""), verified, text=(0, 4)),
        "",
        *style.table(("pool", "address", "size", "used"), used),
    ]
