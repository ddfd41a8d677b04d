# SPDX-License-Identifier: Apache-2.0
"""`maxconsole inspect`: a kernel's machine code, its loops, and what they cost at least."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from maxconsole import paths
from maxconsole.boards import DEFAULT_BOARD, load_board, plan_unbound
from maxconsole.cli import options, style
from maxconsole.cli.progress import reporter
from maxconsole.cli.shell import print_json, print_lines
from maxconsole.errors import UserError
from maxconsole.firmware.build import build
from maxconsole.inspection.report import FunctionReport, Inspector
from maxconsole.inspection.sources import SourceText
from maxconsole.inspection.text import function_lines

app = options.verb()


@app.command(
    epilog="Examples: maxconsole inspect; maxconsole inspect gemm_tile_8_minimum --hot; maxconsole inspect attention"
    " --source; maxconsole inspect gemv --json; maxconsole inspect memcpy --elf firmware.elf"
)
def inspect(
    kernel: Annotated[
        str | None,
        typer.Argument(help="A kernel, or any function; all kernels are listed if none is named.", show_default=False),
    ] = None,
    *,
    board: options.Board = DEFAULT_BOARD,
    elf: Annotated[
        Path | None,
        typer.Option("--elf", metavar="FILE", help="This image instead of the board's.", show_default=False),
    ] = None,
    hot: Annotated[bool, typer.Option("--hot", help="Only innermost loops.")] = False,
    source: Annotated[bool, typer.Option("--source", help="With source lines.")] = False,
    as_json: options.Json = False,
) -> None:
    """Disassemble a kernel as it ships, and count what its loops do.

    A loop's bound is the time that its busiest port needs, by the virtual board's own table. Stalls come on top of it.
    """
    inspector = Inspector(elf or _image(board, silent=as_json))
    reports = inspector.kernels() if kernel is None else inspector.find(kernel)
    if as_json:
        print_json({"elf": str(inspector.elf.path), "build_id": inspector.elf.build_id, "functions": _plain(reports)})
    elif kernel is None:
        print_lines(_listing(reports))
    else:
        texts = SourceText(paths.firmware_dir().parent) if source else None
        for number, report in enumerate(reports):
            print_lines([""] * bool(number) + function_lines(report, only_hot=hot, sources=texts))


def _image(board: str, *, silent: bool) -> Path:
    """The firmware of a board; which model it is for changes addresses in it, and no kernel."""
    profile = load_board(board)
    with reporter(silent=silent) as progress:
        return build(
            profile,
            plan_unbound(profile),
            progress=lambda done, total, name: progress("build", done, total, Path(name).name),
        ).elf


def _listing(reports: tuple[FunctionReport, ...]) -> list[str]:
    if not reports:
        raise UserError("there are no kernels in the image", hint="maxconsole build")
    rows = [_row(report) for report in reports]
    header = ("kernel", "function", "loop", "stack", "bound", "port", "% peak")
    return [
        *style.table(header, rows, text=(0, 1, 5)),
        "",
        "loop: instructions of the innermost loop with the most multiply-accumulates,",
        "which take its busiest port `bound` cycles; % of 32 multiply-accumulates a cycle.",
        "stack: accesses to the stack in all innermost loops.",
    ]


def _row(report: FunctionReport) -> tuple[str, ...]:
    start = (report.kernel, report.name)
    one = report.hottest
    if one is None:
        return (*start, "-", "-", "-", "-", "-")
    return (
        *start,
        str(one.instructions),
        str(sum(loop.stack_accesses for loop in report.hot)),
        style.fixed(one.bound.cycles),
        one.bound.busiest.name,
        style.percent(one.of_peak),
    )


def _plain(reports: tuple[FunctionReport, ...]) -> list[dict[str, Any]]:
    return [
        {
            "name": report.name,
            "kernel": report.kernel,
            "address": report.address,
            "size_bytes": report.size_bytes,
            "file": report.file,
            "loops": [
                {**asdict(one), "busiest": one.bound.busiest.name, "of_peak": one.of_peak} for one in report.figures
            ],
            "code": [
                {
                    "address": line.instruction.address,
                    "text": str(line.instruction),
                    "class": line.traits.kind,
                    "file": line.file,
                    "line": line.line,
                    "loop": line.loop,
                    "on_stack": line.on_stack,
                }
                for line in report.lines
            ],
        }
        for report in reports
    ]
