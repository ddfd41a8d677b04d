# SPDX-License-Identifier: Apache-2.0
"""`maxconsole inspect`: a kernel's machine code, its loops, what they cost at least, and what they did cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from maxconsole import paths
from maxconsole.boards import DEFAULT_BOARD, load_board, plan_unbound
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.cli import options, style
from maxconsole.cli.progress import reporter
from maxconsole.cli.shell import print_json, print_lines, say
from maxconsole.errors import UserError
from maxconsole.firmware.build import build
from maxconsole.inspection.document import function_document
from maxconsole.inspection.export import cycles_by_place, folded_lines, speedscope
from maxconsole.inspection.kernels import kernel_of
from maxconsole.inspection.measurement import Measurement
from maxconsole.inspection.report import FunctionReport, Inspector
from maxconsole.inspection.sources import SourceText
from maxconsole.inspection.text import View, function_lines
from maxconsole.session.hot_spots import measure_hot_spots
from maxconsole.session.setup import Setup

app = options.verb()
_LISTED = 30


@app.command(
    epilog="Examples: maxconsole inspect; maxconsole inspect gemm_tile_8_minimum --hot; maxconsole inspect attention"
    ' --source; maxconsole inspect gemm --hot --measure "Why is the sky blue?"; maxconsole inspect --measure "Hi"'
    " --speedscope hi.json"
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
    measure: Annotated[
        str | None,
        typer.Option(metavar="PROMPT", help="Ask this on a virtual board, and count every instruction."),
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-n", min=1, help="Length of that answer.")] = 4,
    model: options.Model = None,
    context: options.Context = DEFAULT_CONTEXT,
    batch: options.Batch = DEFAULT_BATCH,
    cores: options.Cores = None,
    folded: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --measure: folded stacks, for flame graphs.")
    ] = None,
    speedscope_file: Annotated[
        Path | None, typer.Option("--speedscope", metavar="FILE", help="With --measure: a profile for speedscope.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Disassemble a kernel as it ships, and count what its loops do.

    A loop's bound is the time that its busiest port needs, by the virtual board's own table; stalls come on top of it.
    With --measure the timing model says what each instruction did cost. The console shows that, too.
    """
    if measure is None and (folded or speedscope_file):
        raise typer.BadParameter("--folded and --speedscope go with --measure")
    measurement = None
    if measure is not None:
        if elf is not None:
            raise typer.BadParameter("--measure builds its own image: leave out --elf")
        setup = Setup(board=board, model=model, context=context, batch=batch, cores=cores)
        with reporter(silent=as_json) as progress:
            measured = measure_hot_spots(setup, measure, max_tokens, progress)
        elf, measurement = measured.prepared.firmware.elf, measured.measurement
        measurement.store()
    inspector = Inspector(elf or _image(board, silent=as_json))
    if measurement is not None:
        _export(inspector, measurement, folded, speedscope_file)
    if measurement is not None and kernel is None and not as_json:
        print_lines(_costs(inspector, measurement))
        return
    reports = inspector.kernels() if kernel is None else inspector.find(kernel)
    if as_json:
        print_json(
            {
                "elf": str(inspector.elf.path),
                "build_id": inspector.elf.build_id,
                "measured": None if measurement is None else measurement.title,
                "functions": [function_document(report, measurement) for report in reports],
            }
        )
    elif kernel is None:
        print_lines(_listing(reports))
    else:
        view = View(hot, SourceText(paths.firmware_dir().parent) if source else None, measurement)
        for number, report in enumerate(reports):
            print_lines([""] * bool(number) + function_lines(report, view))


def _image(board: str, *, silent: bool) -> Path:
    """The firmware of a board; which model it is for changes addresses in it, and no kernel."""
    profile = load_board(board)
    with reporter(silent=silent) as progress:
        return build(
            profile,
            plan_unbound(profile),
            progress=lambda done, total, name: progress("build", done, total, Path(name).name),
        ).elf


def _export(inspector: Inspector, measurement: Measurement, folded: Path | None, scope: Path | None) -> None:
    if folded is None and scope is None:
        return
    cycles = cycles_by_place(inspector, measurement)
    if folded is not None:
        _write(folded, "".join(f"{line}\n" for line in folded_lines(cycles)))
    if scope is not None:
        _write(scope, json.dumps(speedscope(cycles, measurement.title)))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    say(f"wrote {path}")


def _listing(reports: tuple[FunctionReport, ...]) -> list[str]:
    if not reports:
        raise UserError("there are no kernels in the image", hint="maxconsole build")
    rows = [_row(report) for report in reports]
    header = ("kernel", "function", "loop", "stack", "bound", "port", "peak")
    return [
        *style.table(header, rows, text=(0, 1, 5)),
        "",
        "loop: instructions of the innermost loop with the most multiply-accumulates,",
        "which take its busiest port `bound` cycles: per cent of the peak of 32 a cycle.",
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


def _costs(inspector: Inspector, measurement: Measurement) -> list[str]:
    """The functions that cost most."""
    costs = [(measurement.spots.within(one.address, one.size_bytes), one.name) for one in inspector.functions()]
    costs = sorted((cost for cost in costs if cost[0].executions), key=lambda cost: -cost[0].cycles)
    rows = [
        (
            kernel_of(name),
            name,
            style.count(round(spot.cycles)),
            style.percent(measurement.share(spot), 2),
            style.count(spot.l1d_refills),
            style.count(spot.l2_refills),
        )
        for spot, name in costs[:_LISTED]
    ]
    header = ("kernel", "function", "cycles", "share %", "L1D", "L2")
    return [
        *style.table(header, rows, text=(0, 1)),
        "",
        f"{measurement.title}: {style.count(round(measurement.cycles))} cycles on all cores together",
        "L1D, L2: refills. `maxconsole inspect FUNCTION --measure ...` shows each instruction.",
    ]
