# SPDX-License-Identifier: Apache-2.0
"""The machine code of an image's kernels, for the screens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from maxconsole import paths
from maxconsole.boards import Board, plan_unbound
from maxconsole.firmware.build import build
from maxconsole.inspection.measurement import Measurement
from maxconsole.inspection.report import FunctionReport, Inspector
from maxconsole.inspection.sources import SourceText
from maxconsole.inspection.text import Row, View, function_rows
from maxconsole.link.text import printable
from maxconsole.tui.seam import KernelCode


def kernels_of(board: Board, elf: Path | None) -> Sequence[KernelCode]:
    """The kernels of `elf`, or of what is built for `board`; with what the last measured run of that build has cost.

    Those that took most come first, the others by kernel. Raises UserError and its kinds.
    """
    inspector = Inspector(elf or build(board, plan_unbound(board)).elf)
    measurement = Measurement.load(inspector.elf.build_id)
    sources = SourceText(paths.firmware_dir().parent)
    found = [_code(report, measurement, sources) for report in inspector.kernels()]
    return sorted(found, key=lambda one: -(one.share or 0.0))


def _code(report: FunctionReport, measurement: Measurement | None, sources: SourceText) -> KernelCode:
    loop = report.hottest
    spent = measurement.spots.within(report.address, report.size_bytes) if measurement else None
    return KernelCode(
        name=printable(report.name),
        kernel=report.kernel,
        instructions=loop.instructions if loop else 0,
        stack=sum(one.stack_accesses for one in report.hot),
        bound=loop.bound.cycles if loop else None,
        port=loop.bound.busiest.name if loop else "",
        peak=loop.of_peak if loop else None,
        share=measurement.share(spent) if measurement and spent else None,
        measured=printable(measurement.title) if measurement else "",
        text=partial(_rows, report, measurement, sources),
    )


def _rows(
    report: FunctionReport,
    measurement: Measurement | None,
    sources: SourceText,
    only_hot: bool,
    with_sources: bool,
) -> Sequence[Row]:
    rows = function_rows(report, View(only_hot, sources if with_sources else None, measurement))
    return [Row(printable(row.text), row.tone) for row in rows]
