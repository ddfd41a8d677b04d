# SPDX-License-Identifier: Apache-2.0
"""`maxconsole checkasm`: every kernel against its reference, on the board."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from maxconsole.boards import DEFAULT_BOARD
from maxconsole.cli import options, style
from maxconsole.cli.progress import reporter
from maxconsole.cli.shell import print_json, print_lines
from maxconsole.session.checkasm import CheckasmResult, KernelCheck, run_checkasm
from maxconsole.telemetry.report import ratio

app = options.verb()


@app.command(epilog="Examples: maxconsole checkasm; maxconsole checkasm --seed 7 --json")
def checkasm(
    *,
    board: options.Board = DEFAULT_BOARD,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**64 - 1, help="Other random inputs.", show_default=False)
    ] = None,
    only: Annotated[
        str, typer.Option(metavar="NAME", help="Only checks whose names begin so.", show_default=False)
    ] = "",
    timing: options.Timing = options.TimingModel.TIMED,
    as_json: options.Json = False,
) -> None:
    """Compare every kernel with its reference on the board, and time both. Exit code 4 when one of them fails."""
    with reporter(silent=as_json) as progress:
        result = run_checkasm(board, seed=seed, only=only, timing=timing.value, progress=progress)
    if as_json:
        print_json({**asdict(result), "badge": str(result.badge), "failed": len(result.failed)})
    else:
        print_lines(_lines(result))
    if result.failed:
        raise typer.Exit(4)


def _lines(result: CheckasmResult) -> list[str]:
    rows = [_cells(check) for check in result.checks]
    header = ("kernel", "", "cycles", "per unit", "reference", "speed-up", "% of bound")
    return [
        *style.table(header, rows, text=(0, 1)),
        "",
        f"{len(result.checks) - len(result.failed)} passed, {len(result.failed)} failed",
        f"{result.badge}: {result.board}; a unit is a multiply-accumulate, or an element where a kernel does none;"
        " the bound is what the busiest pipe needs",
    ]


def _cells(check: KernelCheck) -> tuple[str, ...]:
    if not check.passed:
        return check.name, f"FAIL {check.detail}", *[""] * 5
    return (
        check.name,
        "ok",
        _or_dash(check.cycles),
        style.fixed(ratio(check.cycles or None, check.work), 3),
        _or_dash(check.reference_cycles),
        style.fixed(ratio(check.reference_cycles, check.cycles), 1),
        style.percent(ratio(check.bound_cycles or None, check.cycles)),
    )


def _or_dash(cycles: int) -> str:
    """Checks that do not compare speeds, and boards that do not count, have no cycles."""
    return style.count(cycles) if cycles else "-"
