# SPDX-License-Identifier: Apache-2.0
"""Instruction counts of a request, against the spans that the firmware itself measures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from gguf_files import write_model
from typer.testing import CliRunner

from maxconsole.cli.app import app
from maxconsole.inspection.kernels import kernel_of
from maxconsole.inspection.measurement import Measurement
from maxconsole.inspection.report import Inspector
from maxconsole.session.hot_spots import Measured, measure_hot_spots
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup

pytestmark = pytest.mark.system

PROMPT = "hello there"
TOKENS = 3
#: Cycles between two latches that are not the kernel's: the latches, the loop around it, draining memory.
LATCH_CYCLES = 200


@dataclass(frozen=True, slots=True)
class Run:
    setup: Setup
    measured: Measured


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("hot spots")
    model = write_model(folder / "tiny.gguf", hidden=256, heads=4, kv_heads=2, ffn=512, layers=2)
    setup = Setup(model=str(model), context=128, batch=16, cores=1, timing="timed")
    return Run(setup, measure_hot_spots(setup, PROMPT, TOKENS))


def test_counting_changes_no_figure_of_the_request(run: Run) -> None:
    with Session.open(run.setup) as session:
        prompt = session.prepared.model.conversation(None).ask(PROMPT).prompt
        generation = session.ask(prompt, GREEDY, TOKENS, stops=False)
        text = "".join(generation)
        assert generation.answer.rows == run.measured.answer.rows
        assert text == run.measured.answer.text


def test_the_sum_over_a_kernels_instructions_is_its_span(run: Run) -> None:
    inspector = Inspector(run.measured.prepared.firmware.elf)
    spots = run.measured.measurement.spots
    functions = [one for one in inspector.functions() if kernel_of(one.name) == "rms_norm"]
    spent = sum(spots.within(one.address, one.size_bytes).cycles for one in functions)
    rows = [row for row in run.measured.answer.rows if row.kernel == "rms_norm"]
    span, spans = sum(row.cycles for row in rows), sum(row.count for row in rows)
    assert 0 <= span - spent <= LATCH_CYCLES * spans


def test_nothing_before_the_request_is_counted(run: Run) -> None:
    inspector = Inspector(run.measured.prepared.firmware.elf)
    (boot,) = (one for one in inspector.functions() if one.name == "engine_bind")
    assert run.measured.measurement.spots.within(boot.address, boot.size_bytes).executions == 0


def test_inspect_measures_exports_and_keeps(run: Run, tmp_path: Path) -> None:
    assert run.setup.model is not None
    scope, folded = tmp_path / "scope.json", tmp_path / "folded.txt"
    arguments = ["inspect", "swiglu", "--measure", PROMPT, "-n", "1", "--model", run.setup.model, "--json"]
    arguments += ["--context", "128", "--batch", "16", "--cores", "1"]
    result = CliRunner().invoke(app, [*arguments, "--speedscope", str(scope), "--folded", str(folded)])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    for function in document["functions"]:
        assert function["measured"]["cycles"] == pytest.approx(
            sum(line["measured"]["cycles"] for line in function["code"])
        )
    kept = Measurement.load(document["build_id"])
    assert kept is not None
    assert json.loads(scope.read_text())["profiles"][0]["endValue"] == pytest.approx(kept.cycles)
    assert "swiglu;swiglu" in folded.read_text()
