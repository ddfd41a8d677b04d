# SPDX-License-Identifier: Apache-2.0
"""`maxconsole build`: compiles and links the firmware for a board and a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from maxconsole.boards import DEFAULT_BOARD, load_board, plan_unbound
from maxconsole.boards import plan as make_plan
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.cli import options, style
from maxconsole.cli.progress import reporter
from maxconsole.cli.shell import print_json, print_lines
from maxconsole.firmware.build import BuiltFirmware
from maxconsole.firmware.build import build as build_firmware
from maxconsole.firmware.elf import ElfReport, read_elf, report
from maxconsole.session.model import open_model

app = options.verb()


@app.command(epilog="Examples: maxconsole build; maxconsole build --board rpi5-virtual --model qwen2.gguf --json")
def build(
    *,
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    context: options.Context = DEFAULT_CONTEXT,
    batch: options.Batch = DEFAULT_BATCH,
    checkasm: Annotated[bool, typer.Option("--checkasm", help="Build the kernel test image instead.")] = False,
    as_json: options.Json = False,
) -> None:
    """Build the firmware for a board and a model. Only what changed is compiled."""
    profile = load_board(board)
    if checkasm:
        planned = plan_unbound(profile, context, batch)
    else:
        planned = make_plan(profile, open_model(model).facts, context, batch)
    with reporter(silent=as_json) as progress:
        built = build_firmware(
            profile,
            planned,
            "checkasm" if checkasm else "engine",
            progress=lambda done, total, name: progress("build", done, total, Path(name).name),
        )
    found = report(read_elf(built.elf))
    if as_json:
        print_json({**asdict(built), "elf": str(built.elf), "report": asdict(found)})
    else:
        print_lines(_lines(built, found))


def _lines(built: BuiltFirmware, found: ElfReport) -> list[str]:
    rows = [(part.name, f"{part.address:#010x}", style.size(part.size_bytes)) for part in found.sections]
    rows += [(part.name, f"{part.address:#010x}", style.size(part.size_bytes)) for part in found.pools]
    return [
        *style.table(("section", "address", "size"), rows),
        "",
        *style.pairs(
            [
                ("build", f"{built.build_id[:12]} for {built.board}, image {built.image}"),
                ("compiler", built.toolchain),
                ("compiled", f"{built.compiled}, {built.reused} from the cache, {style.duration(built.seconds)}"),
                ("image", f"{style.size(found.image_bytes)} of {style.size(found.image_limit_bytes)}"),
                ("ELF", str(built.elf)),
            ]
        ),
    ]
