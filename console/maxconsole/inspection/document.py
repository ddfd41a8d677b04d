# SPDX-License-Identifier: Apache-2.0
"""Functions taken apart, ready for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from maxconsole.inspection.measurement import Measurement
from maxconsole.inspection.report import FunctionReport, Line


def function_document(report: FunctionReport, measurement: Measurement | None = None) -> dict[str, Any]:
    """Loops and code; with a measurement, cycles and misses of each instruction and each loop."""
    found: dict[str, Any] = {
        "name": report.name,
        "kernel": report.kernel,
        "address": report.address,
        "size_bytes": report.size_bytes,
        "file": report.file,
        "loops": [_loop(report, number, measurement) for number in range(len(report.loops))],
        "code": [_line(line, report, measurement) for line in report.lines],
    }
    if measurement is not None:
        found["measured"] = asdict(measurement.spots.within(report.address, report.size_bytes))
    return found


def _loop(report: FunctionReport, number: int, measurement: Measurement | None) -> dict[str, Any]:
    one = report.figures[number]
    found = {
        **asdict(one),
        "parent": report.loops[number].parent,
        "busiest": one.bound.busiest.name,
        "of_peak": one.of_peak,
    }
    if measurement is not None:
        passes = measurement.passes(report, number)
        found["measured"] = None if passes is None else asdict(passes)
    return found


def _line(line: Line, report: FunctionReport, measurement: Measurement | None) -> dict[str, Any]:
    location = report.locate(line.instruction.address)
    found: dict[str, Any] = {
        "address": line.instruction.address,
        "text": str(line.instruction),
        "class": line.traits.kind,
        "file": location.file,
        "line": location.line,
        "loop": line.loop,
        "on_stack": line.on_stack,
    }
    if measurement is not None:
        found["measured"] = asdict(measurement.spots.at(line.instruction.address))
    return found
