# SPDX-License-Identifier: Apache-2.0
"""scripts/model-linux: one Linux program with the timing model of a board."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from maxconsole.boards import load_board
from maxconsole.errors import UserError
from maxconsole.virtual.linux import Marks, run_linux
from maxconsole.virtual.linux_results import Counts, Progress, Results

_COLUMNS = (
    "cycles",
    "waiting",
    "instructions",
    "IPC",
    "L1D refills",
    "L2 refills",
    "L3 refills",
    "DRAM read",
    "written",
)
_REFILLS = (0x03, 0x17, 0x2A)


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or the exit code of the UserError that it prints."""
    parser = argparse.ArgumentParser(description="Cycles, misses and memory traffic of a static AArch64 Linux program.")
    parser.add_argument("--board", default="rpi5-virtual", help="whose cores, caches and memory (default: %(default)s)")
    parser.add_argument("--mode", choices=("fast", "timed"), default="timed", help="the model (default: %(default)s)")
    parser.add_argument("--threads-max", type=int, metavar="N", help="threads at once to model (default: the cores)")
    parser.add_argument("--region", action="append", default=[], metavar="SYMBOL", help="a function to count apart")
    parser.add_argument("--barrier", action="append", default=[], metavar="SYMBOL", help="where threads meet")
    parser.add_argument("--idle", action="append", default=[], metavar="SYMBOL", help="waits for work: does not count")
    parser.add_argument("--work", action="append", default=[], metavar="SYMBOL", help="counts even inside an idle one")
    parser.add_argument("--json", action="store_true", help="results as JSON on stdout, the program's output on stderr")
    parser.add_argument("command", nargs="+", metavar="PROGRAM", help="and its arguments, after --")
    options = parser.parse_args(arguments)
    marks = Marks(tuple(options.region), tuple(options.barrier), tuple(options.idle), tuple(options.work))
    try:
        results = run_linux(
            load_board(options.board),
            options.command,
            mode=options.mode,
            marks=marks,
            threads=options.threads_max,
            output=sys.stderr.fileno() if options.json else None,
            progress=_show if sys.stderr.isatty() else None,
        )
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(as_json(results), indent=2) if options.json else as_text(results))
    return 0


def _show(progress: Progress) -> None:
    print(f"\r{progress.instructions / 1e6:.0f} M instructions", end="", file=sys.stderr, flush=True)


def as_json(results: Results) -> dict[str, object]:
    """Everything, badge included."""
    return {"badge": "MODELLED", **asdict(results)}


def as_text(results: Results) -> str:
    """A table of threads and one of regions, in Markdown."""
    model = results.model
    lines = [f"MODELLED, model {model.model_version}: {results.cycles:,} cycles", ""]
    lines += _table("thread", ((f"{part.number} on core {part.core}", part.counts) for part in results.threads))
    if results.regions:
        named = ((f"{part.name}, thread {part.thread}, {part.counts.calls} x", part.counts) for part in results.regions)
        lines += ["", *_table("region", named)]
    if results.unmodeled_threads:
        lines += ["", f"{results.unmodeled_threads} threads found no free core and were not modeled"]
    if model.undecoded_executed:
        lines += ["", f"{model.undecoded_executed:,} instructions were not decoded: {', '.join(model.undecoded[:4])}"]
    return "\n".join(lines)


def _table(title: str, rows: Iterable[tuple[str, Counts]]) -> list[str]:
    lines = [f"| {title} | " + " | ".join(_COLUMNS) + " |", "|---" + "|---:" * len(_COLUMNS) + "|"]
    for name, counts in rows:
        cells = [f"{counts.cycles:,}", f"{counts.waiting:,}", f"{counts.instructions:,}", f"{counts.ipc:.2f}"]
        cells += [f"{counts.events.get(event, 0):,}" for event in _REFILLS]
        cells += [f"{size / 1e6:.2f} MB" for size in (counts.dram_read_bytes, counts.dram_written_bytes)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
