# SPDX-License-Identifier: Apache-2.0
"""`maxconsole bench`: how fast and how exact the firmware is, measured on the ELF that ships."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from maxconsole.boards import DEFAULT_BOARD
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.cli import options, style
from maxconsole.cli.bench_phase import decode, limits, prefill
from maxconsole.cli.progress import reporter
from maxconsole.cli.prompts import read_text
from maxconsole.cli.shell import print_json, print_lines
from maxconsole.errors import UserError
from maxconsole.session.accuracy import AccuracyResult, measure_accuracy
from maxconsole.session.benchmark_text import TEXT
from maxconsole.session.route import USUAL, Route
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup
from maxconsole.session.speed import WORKLOADS, SpeedResult, Workload, measure
from maxconsole.session.tuning import with_tuning

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Measure accuracy and speed of the firmware as it ships."
)
_CONTEXT = 1024
_ACCURACY_TOKENS = 256


for _verb, _examples in (
    (prefill, "bench prefill; maxconsole bench prefill -n 480 --text documents --cores 1 --json"),
    (decode, "bench decode; maxconsole bench decode -n 16 --cores 4 --json"),
    (limits, "bench limits; maxconsole bench limits --board rpi5-virtual --json"),
):
    app.command(epilog=f"Examples: maxconsole {_examples}")(_verb)


@app.command(
    epilog="Examples: maxconsole bench speed; maxconsole bench speed --workload code --runs 3;"
    " maxconsole bench speed --prompt-tokens 64 --new-tokens 8 --json"
)
def speed(
    *,
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    context: options.Context = _CONTEXT,
    batch: options.Batch = DEFAULT_BATCH,
    cores: options.Cores = None,
    int8: options.Int8 = USUAL.int8_tokens,
    npu: options.Npu = USUAL.npu,
    npu_f16: options.NpuF16 = USUAL.npu_f16,
    attention: options.Attention = USUAL.attention,
    tuning: options.Tuning = None,
    workload: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(one.name for one in WORKLOADS)}; all if none is named.")
    ] = None,
    prompt_tokens: Annotated[int | None, typer.Option(min=1, help="A workload of your own.")] = None,
    new_tokens: Annotated[int, typer.Option(min=1, help="Its answer.")] = 16,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each; a virtual board hardly varies.")] = 1,
    timing: options.Timing = options.TimingModel.TIMED,
    as_json: options.Json = False,
) -> None:
    """Measure prefill and decode. The answers always have their full length, whatever the model says."""
    chosen = _workloads(workload, prompt_tokens, new_tokens)
    setup = Setup(
        board=board,
        model=model,
        context=context,
        batch=batch,
        cores=cores,
        route=Route(int8, npu, npu_f16, attention),
        timing=timing.value,
    )
    setup = with_tuning(setup, tuning)
    with reporter(silent=as_json) as progress, Session.open(setup, progress) as session:
        results = [measure(session, one, runs, progress) for one in chosen]
    if as_json:
        print_json([result.to_json() for result in results])
    else:
        print_lines(_speed_lines(results))


@app.command(
    epilog="Examples: maxconsole bench accuracy; maxconsole bench accuracy --model qwen2.gguf --text book.txt -n 4096"
)
def accuracy(
    *,
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    context: options.Context = DEFAULT_CONTEXT,
    batch: options.Batch = DEFAULT_BATCH,
    cores: options.Cores = None,
    int8: options.Int8 = USUAL.int8_tokens,
    npu: options.Npu = USUAL.npu,
    npu_f16: options.NpuF16 = USUAL.npu_f16,
    attention: options.Attention = USUAL.attention,
    text: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Text to read; some English if none is given.")
    ] = None,
    tokens: Annotated[int, typer.Option("--tokens", "-n", min=2, help="How much of it.")] = _ACCURACY_TOKENS,
    as_json: options.Json = False,
) -> None:
    """Compare the firmware's logits, token by token, with the file's own weights in float32.

    Runs without the timing model, which changes no result; with the NPU, whose device it is, with the quick one.
    """
    words = TEXT if text is None else read_text(str(text))
    setup = Setup(
        board=board,
        model=model,
        context=context,
        batch=batch,
        cores=cores,
        route=Route(int8, npu, npu_f16, attention),
        timing="off" if npu == "off" else "fast",
    )
    with reporter(silent=as_json) as progress, Session.open(setup, progress) as session:
        result = measure_accuracy(session, words, tokens, progress)
        name = session.prepared.model.name
    if as_json:
        print_json({"board": board, "model": name, "attention": attention, **asdict(result)})
    else:
        print_lines(_accuracy_lines(name, result))


def _accuracy_lines(name: str, result: AccuracyResult) -> list[str]:
    found = result.agreement
    bands = [
        (
            f"{band.start} to {band.end - 1}",
            str(band.agreement.positions),
            style.percent(band.agreement.top1, 2),
            f"{band.agreement.mean_kl:.5f}",
        )
        for band in result.bands
    ]
    lines = style.pairs(
        [
            ("model", name),
            ("positions", f"{found.positions} in {result.sequences} sequences of up to {result.longest} tokens"),
            ("same likeliest token", f"{style.percent(found.top1, 2)} %"),
            ("mean KL divergence", f"{found.mean_kl:.5f} nats"),
            ("99th percentile", f"{found.p99_kl:.5f} nats"),
            ("margin where they differ", f"{found.margin_of_misses:.3f} between the reference's two best logits"),
        ]
    )
    return [*lines, "", *style.table(("position", "count", "top-1 %", "mean KL"), bands)]


def _workloads(names: list[str] | None, prompt_tokens: int | None, new_tokens: int) -> list[Workload]:
    if prompt_tokens is not None:
        return [Workload("own", prompt_tokens, new_tokens)]
    known = {one.name: one for one in WORKLOADS}
    for name in names or ():
        if name not in known:
            raise UserError(f"there is no workload {name!r}", hint=f"there are {', '.join(known)}")
    return [known[name] for name in names or known]


def _speed_lines(results: list[SpeedResult]) -> list[str]:
    rows = [
        (
            result.workload.name,
            f"{result.workload.prompt_tokens}+{result.workload.new_tokens}",
            str(len(result.answers)),
            style.fixed(result.prefill_rate, 1),
            style.fixed(result.decode_rate, 1),
            style.fixed(result.wall_prefill_rate, 1),
            style.fixed(result.wall_decode_rate, 1),
            style.percent(result.spread, 3),
        )
        for result in results
    ]
    header = ("workload", "tokens", "runs", "prefill/s", "decode/s", "host prefill/s", "host decode/s", "spread %")
    return [*style.table(header, rows), "", f"{results[0].answers[0].badge}; tokens per second"]
