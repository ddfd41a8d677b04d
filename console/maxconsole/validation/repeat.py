# SPDX-License-Identifier: Apache-2.0
"""F5: the same figures in every run, however busy the host is.

The firmware twice, on one core and on four: the same to the cycle. A Linux program with threads five times: nearly.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial

from maxconsole import paths
from maxconsole.errors import UserError
from maxconsole.validation.check import AtMost, Bench, Check, Group, Outcome, Row
from maxconsole.validation.llama_build import REPACKED
from maxconsole.validation.llama_models import QWEN_05
from maxconsole.validation.llama_runs import Job, measure
from maxconsole.validation.store import Figures

_BOARD = "rpi5-virtual"
_PROMPT = "What is the capital of Japan?"
_TOKENS = 3
_SECONDS = 1800
_CORES = (1, 4)
_RUNS = 5
_JOB = Job(REPACKED, QWEN_05.with_layers(1), 4, prompt=32)


@contextmanager
def _busy_host() -> Iterator[None]:
    """Every processor of the host has one more process to run."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
        yield


def _ask(cores: int) -> dict[str, float]:
    """What one run says of modeled time and events, by name."""
    command = [sys.executable, "-m", "maxconsole", "ask", "--board", _BOARD, "--cores", str(cores), "--greedy"]
    command += ["--timing", "timed", "--max-tokens", str(_TOKENS), "--json", _PROMPT]
    run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if run.returncode:
        raise UserError(f"the firmware did not answer:\n{run.stderr[-2000:]}", exit_code=3)
    return dict(_numbers("", json.loads(run.stdout)["answer"]))


def _numbers(name: str, value: object) -> Iterator[tuple[str, float]]:
    """All numbers in JSON, those that depend on the host's pace left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            if "wall" not in key:
                yield from _numbers(f"{name}.{key}", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _numbers(f"{name}.{index}", item)
    elif isinstance(value, int | float):
        yield name, value


def _compare(cores: int) -> Figures:
    first = _ask(cores)
    with _busy_host():
        second = _ask(cores)
    different = [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)]
    cycles = [run[".prefill.cycles"] + run[".decode.cycles"] for run in (first, second)]
    return {"numbers": len(first), "different": len(different), "cycles": cycles[0], "again": cycles[1]}


def run(bench: Bench) -> Outcome:
    firmware = [file for file in sorted(paths.firmware_dir().rglob("*.[chS]")) if file.parent.name != "virtual"]
    rows: list[Row] = []
    for cores in _CORES:
        bench.note(f"the firmware answers twice on {cores} of the board's cores")
        found = bench.store.figures(f"repeat-{cores}", [*firmware, _PROMPT, str(_TOKENS)], partial(_compare, cores))
        compared = f"of {found['numbers']:.0f} counts and times"
        rows += [
            Row(f"cycles, {cores} cores, busy host", "", found["again"], found["cycles"], "the run before", 0),
            Row(f"that differ, {cores} cores", "", found["different"], 0, compared, 0),
        ]
    return Outcome((Group("the firmware, two runs", tuple(rows)), Group("llama.cpp", (_spread(bench),))))


def _spread(bench: Bench) -> Row:
    """Between the slowest and the fastest of runs of which every second one is on a busy host."""
    cycles = []
    for number in range(1, _RUNS + 1):
        with nullcontext() if number % 2 else _busy_host():
            cycles.append(measure(bench, _JOB, number)["cycles"])
    spread = 100 * (max(cycles) / min(cycles) - 1)
    return AtMost(f"spread of {_RUNS} runs, {_JOB.threads} threads", "% of cycles", spread, 2, "target")


CHECK = Check("F5", "the same cycles in every run, however busy the host is", run)
