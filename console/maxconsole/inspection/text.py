# SPDX-License-Identifier: Apache-2.0
"""A function taken apart, as plain text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from posixpath import basename
from typing import Literal, NamedTuple, TypeAlias

from maxconsole.inspection.code import INSTRUCTION_BYTES
from maxconsole.inspection.figures import LoopFigures
from maxconsole.inspection.measurement import Measurement
from maxconsole.inspection.report import FunctionReport, Line
from maxconsole.inspection.sources import SourceText
from maxconsole.telemetry.bounds import PEAK_MACS

WIDTH = 79
"""80 columns, and room for a scroll bar."""

MEASURED_HEAD = f"{'share %':>56}  {'cycles':>6} {'L1D':>7} {'L2':>6}"
"""Stands above measured lines."""

_LABEL = 11

Tone: TypeAlias = Literal["head", "fact", "source", "cold", "hot", "stack"]
"""What a line is: a heading, a figure, source, or an instruction outside of hot loops, in one, or one that touches
the stack there."""


class Row(NamedTuple):
    """A line of text."""

    text: str
    tone: Tone = "fact"


@dataclass(frozen=True, slots=True)
class View:
    """What to show: only innermost loops, with source lines above their instructions, with what a run has cost."""

    only_hot: bool = False
    sources: SourceText | None = None
    measurement: Measurement | None = None


def function_lines(report: FunctionReport, view: View | None = None) -> list[str]:
    """The loops' figures, then the code."""
    return [row.text for row in function_rows(report, view or View())]


def function_rows(report: FunctionReport, view: View) -> list[Row]:
    """The same, and what each line is."""
    about = [f"kernel {report.kernel}, {report.file}, {report.size_bytes} bytes"]
    if view.measurement is not None:
        spent = view.measurement.spots.within(report.address, report.size_bytes)
        share = 100 * view.measurement.share(spent)
        about.append(f"{spent.cycles:.0f} cycles, {share:.2f} % of all: {view.measurement.title}")
    rows = [Row(report.name, "head"), *(Row(line) for text in about for line in _wrapped(text))]
    for number, figures in enumerate(report.figures):
        if figures.innermost or not view.only_hot:
            head, *facts = loop_lines(number, report, view.measurement)
            rows += [Row(""), Row(head, "head"), *map(Row, facts)]
    if not report.figures:
        rows += [Row(""), Row("no loops")]
    return [*rows, Row(""), *code_rows(report, view)]


def loop_lines(number: int, report: FunctionReport, measurement: Measurement | None = None) -> list[str]:
    """What one pass of a loop takes."""
    one = report.figures[number]
    parent = report.loops[number].parent
    kind = "hot" if one.innermost else "outer, the inner ones count once"
    inside = "" if parent is None else f", in loop {parent + 1}"
    head = f"loop {number + 1}  {one.start:#x} to {one.end:#x}{inside}: {kind}"
    occupied = [part for part in one.bound.resources if part.slots]
    slots = ", ".join(f"{part.slots} {part.name} in {_cycles(part.cycles)}" for part in occupied)
    facts = [
        ("a pass", _pass(one)),
        ("bound", _bound(one)),
        *([] if measurement is None else [("measured", _measured(number, report, measurement))]),
        ("slots", slots),
        ("stack", f"{one.stack_loads} loads, {one.stack_stores} stores" if one.stack_accesses else "untouched"),
        ("registers", f"{one.general_registers} general, {one.vector_registers} of 32 vector"),
        *_banks(one),
        ("mix", ", ".join(f"{count} {kind}" for kind, count in one.mix.items())),
    ]
    return [head, *(line for label, text in facts for line in _wrapped(text, label))]


def code_rows(report: FunctionReport, view: View) -> Iterator[Row]:
    """The instructions. Marks: the loop's number, `*` where it is hot, `S` where the stack is touched."""
    if view.measurement is not None:
        yield Row(MEASURED_HEAD, "cold")
    place: tuple[str, int] | None = None
    shown = [line for line in report.lines if not view.only_hot or _is_hot(report, line)]
    for before, line in pairwise([None, *shown]):
        assert line is not None
        if before is not None and line.instruction.address != before.instruction.address + INSTRUCTION_BYTES:
            yield Row("  ...", "cold")
        if view.sources is not None:
            location = report.locate(line.instruction.address)
            if (location.file, location.line) != place and location.line:
                place = (location.file, location.line)
                text = f"{basename(location.file)}:{location.line}  {view.sources.line(*place)}"
                yield Row(text[:WIDTH].rstrip(), "source")
        hot = _is_hot(report, line)
        yield Row(code_line(report, line, view.measurement), "cold" if not hot else "stack" if line.on_stack else "hot")


def code_line(report: FunctionReport, line: Line, measurement: Measurement | None = None) -> str:
    """Address, marks, instruction; then its class in the timing model, or what a run has measured.

    That is: the share of the function's cycles, cycles an execution, refills of L1D and of L2.
    """
    number = "" if line.loop is None else str(line.loop + 1)
    marks = f"{number:>3}{'*' if _is_hot(report, line) else ' '}{'S' if line.on_stack else ' '}"
    start = f"{line.instruction.address:8x} {marks}"
    if measurement is None:
        return f"{start} {line.instruction!s:<43} {line.traits.kind}".rstrip()
    spot = measurement.spots.at(line.instruction.address)
    if not spot.executions:
        return f"{start} {line.instruction}"[:WIDTH]
    whole = measurement.spots.within(report.address, report.size_bytes).cycles
    columns = f"{100 * spot.cycles / whole if whole else 0:7.2f} {spot.cycles / spot.executions:7.2f}"
    return f"{start} {line.instruction!s:<33.33} {columns} {_count(spot.l1d_refills):>7} {_count(spot.l2_refills):>6}"


def numbers(registers: Sequence[int]) -> str:
    """`0-3, 8` for ascending numbers."""
    runs: list[list[int]] = []
    for one in registers:
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _is_hot(report: FunctionReport, line: Line) -> bool:
    return line.loop is not None and report.loops[line.loop].innermost


def _pass(one: LoopFigures) -> str:
    parts = [f"{one.instructions} instructions"]
    if one.macs:
        parts.append(f"{one.macs} MAC")
    if one.calls:
        parts.append(f"{one.calls} calls")
    if one.innermost and one.branches_inside:
        parts.append("if all branches inside fall through")
    return ", ".join(parts)


def _bound(one: LoopFigures) -> str:
    text = f"{_cycles(one.bound.cycles)} cycles by {one.bound.busiest.name}"
    if one.of_peak is None:
        return text
    rate = one.macs / one.bound.cycles
    return f"{text}: {rate:.1f} MAC a cycle, {100 * one.of_peak:.1f} % of {PEAK_MACS}"


def _measured(number: int, report: FunctionReport, measurement: Measurement) -> str:
    passes = measurement.passes(report, number)
    if passes is None:
        return "not executed"
    text = f"{passes.count} passes of {passes.cycles_each:.2f} cycles"
    one = report.figures[number]
    if not one.innermost or one.branches_inside or not passes.cycles_each:
        return text
    return f"{text}; the bound is {100 * one.bound.cycles / passes.cycles_each:.1f} % of that"


def _banks(one: LoopFigures) -> Iterator[tuple[str, str]]:
    banks = {
        "rows": one.banks.rows,
        "columns": one.banks.columns,
        "accumulators": one.banks.accumulators,
        "constants": one.banks.constants,
        "scratch": one.banks.scratch,
    }
    text = "; ".join(f"{name} {numbers(registers)}" for name, registers in banks.items() if registers)
    if text:
        yield "", text


def _wrapped(text: str, label: str | None = None) -> list[str]:
    """Indented; behind `label`, if there is one, in a column of their own."""
    start = "  " if label is None else f"  {label:<{_LABEL}}"
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_long_words=False)


def _cycles(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _count(value: int) -> str:
    """In at most five characters."""
    for power, prefix in ((9, "G"), (6, "M"), (3, "k")):
        if value >= 10 * 10**power:
            return f"{value / 10**power:.0f}{prefix}"
    return str(value)
