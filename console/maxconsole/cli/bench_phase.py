# SPDX-License-Identifier: Apache-2.0
"""`maxconsole bench prefill|decode|limits`: one phase against the limits of the board, and the limits themselves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from maxconsole.boards import DEFAULT_BOARD, load_board
from maxconsole.boards.events import choose_events
from maxconsole.boards.planner import BATCH_MAX
from maxconsole.cli import options, style
from maxconsole.cli.progress import reporter
from maxconsole.cli.shell import print_json, print_lines
from maxconsole.errors import UserError
from maxconsole.schema import wire
from maxconsole.session.benchmark_text import KINDS, Kind
from maxconsole.session.npu_report import npu_report
from maxconsole.session.results import Answer
from maxconsole.session.route import USUAL, Route
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup
from maxconsole.session.speed import Workload, measure
from maxconsole.telemetry.bounds import MODEL_PORT_BOUND, PEAK_MACS
from maxconsole.telemetry.breakdown import BUS_ACCESS_RD, breakdown, draw_roofline, roofline
from maxconsole.telemetry.npu import overlap
from maxconsole.telemetry.report import KernelRow

_DECODE_PROMPT = 16

TextKind = Annotated[str, typer.Option("--text", help=f"Kind of text: {', '.join(KINDS)}.")]


def prefill(
    *,
    tokens: Annotated[int, typer.Option("--tokens", "-n", min=1, help="Length of the prompt.")] = 320,
    text: TextKind = "news",
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    batch: Annotated[int | None, typer.Option(min=1, max=BATCH_MAX, help="The whole prompt if not given.")] = None,
    cores: options.Cores = None,
    int8: options.Int8 = USUAL.int8_tokens,
    npu: options.Npu = USUAL.npu,
    npu_f16: options.NpuF16 = USUAL.npu_f16,
    attention: options.Attention = USUAL.attention,
    timing: options.Timing = options.TimingModel.TIMED,
    as_json: options.Json = False,
) -> None:
    """Measure one prompt, from its tokens to the logits of the last."""
    workload = Workload("prefill", tokens, 1, _kind(text))
    setup = Setup(
        board=board,
        model=model,
        context=workload.context,
        batch=batch or min(tokens, BATCH_MAX),
        cores=cores,
        route=Route(int8, npu, npu_f16, attention),
        timing=timing.value,
    )
    _run("prefill", workload, setup, as_json)


def decode(
    *,
    tokens: Annotated[int, typer.Option("--tokens", "-n", min=1, help="Steps to measure.")] = 8,
    prompt_tokens: Annotated[int, typer.Option(min=1, help="Tokens in the KV cache before.")] = _DECODE_PROMPT,
    text: TextKind = "news",
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    cores: options.Cores = None,
    attention: options.Attention = USUAL.attention,
    timing: options.Timing = options.TimingModel.TIMED,
    as_json: options.Json = False,
) -> None:
    """Measure single steps of an answer."""
    # The first token of an answer comes out of the prefill.
    workload = Workload("decode", prompt_tokens, tokens + 1, _kind(text))
    setup = Setup(
        board=board,
        model=model,
        context=workload.context,
        batch=min(prompt_tokens, BATCH_MAX),
        cores=cores,
        route=Route(attention=attention),
        timing=timing.value,
    )
    _run("decode", workload, setup, as_json)


def limits(*, board: options.Board = "rpi5-virtual", as_json: options.Json = False) -> None:
    """Measure what a virtual board can do at best: multiply-accumulates, and bytes to and from memory."""
    from maxconsole.validation.limits import measure_limits  # noqa: PLC0415 - not for the other verbs

    with reporter(silent=as_json) as progress:
        progress("measuring the board's limits", 0, 0)
        found = measure_limits(board)
    if as_json:
        print_json(asdict(found))
        return
    rows = [
        (f"{one.what}, {one.cores} core{'s' * (one.cores > 1)}", style.quantity(one.bytes_per_s, "B/s"))
        for one in found.rates
    ]
    clock = style.quantity(found.clock_hz, "Hz")
    peak = style.quantity(found.macs_per_cycle * found.clock_hz, "MAC/s")
    sdot = ("SDOT", f"{found.macs_per_cycle:.2f} MAC a cycle and core, {peak}")
    print_lines([*style.pairs([sdot, *rows]), "", f"{found.badge}: {found.board} at {clock}"])


def _kind(text: str) -> Kind:
    for kind in KINDS:
        if text == kind:
            return kind
    raise UserError(f"there is no text of the kind {text!r}", hint=f"there are {', '.join(KINDS)}")


def _run(phase: str, workload: Workload, setup: Setup, as_json: bool) -> None:
    profile = load_board(setup.board)
    with reporter(silent=as_json) as progress, Session.open(setup, progress) as session:
        session.select_events(choose_events(profile, [hex(MODEL_PORT_BOUND), hex(BUS_ACCESS_RD)]))
        (answer,) = measure(session, workload, 1, progress).answers
        running = answer.kernels.cells()
        name = session.prepared.model.name
        build_id = session.prepared.firmware.build_id
        trace = session.snapshot().steps.get(wire.Phase.PREFILL)
    rows = [row for row in answer.rows if row.phase == phase]
    cores = 1 + max(core for _, core, _ in running)
    cycles = answer.prefill_cycles if phase == "prefill" else answer.decode_cycles
    tokens = answer.prefilled_tokens if phase == "prefill" else answer.decode_steps
    bandwidth = profile.dram.effective_bytes_per_s or profile.dram.peak_bytes_per_s
    _check_physics(rows, cores, cycles)
    document: dict[str, Any] = {
        "phase": phase,
        "tokens": tokens,
        "total_cycles": cycles,
        "cycles_per_token": cycles / tokens,
        "tokens_per_s": tokens * answer.counter_hz / cycles if cycles else None,
        "counter_hz": answer.counter_hz,
        "badge": {"text": str(answer.badge), **asdict(answer.badge)},
        "configuration": {
            **_configuration(setup, name, build_id),
            "cores_used": cores,
            "int8": answer.int8,
            "npu": answer.npu,
            "npu_f16": answer.npu_f16,
            "attention": answer.attention,
            "text": workload.text,
        },
        "breakdown": None if (parts := breakdown(rows)) is None else asdict(parts),
        "kernels": [asdict(row) for row in rows],
        "npu": None,
    }
    side = overlap(trace) if phase == "prefill" and trace is not None and answer.npu != "off" else None
    if side is not None:
        document["npu"] = asdict(npu_report(side, rows, profile, answer.counter_hz))
    if as_json:
        print_json(document)
    else:
        print_lines(_lines(document, rows, answer, bandwidth))


def _configuration(setup: Setup, model: str, build_id: str) -> dict[str, Any]:
    return {
        "board": setup.board,
        "model": model,
        "build_id": build_id,
        "batch": setup.batch,
        "context": setup.context,
        "timing": setup.timing,
        "route": asdict(setup.route),
    }


def _check_physics(rows: list[KernelRow], cores: int, cycles: int) -> None:
    """No figure is printed that this core cannot reach."""
    macs = sum(row.work for row in rows if row.kernel.startswith("linear_") or row.kernel == "head")
    if cycles and macs > PEAK_MACS * cores * cycles:
        raise AssertionError(f"{macs} multiply-accumulates in {cycles} cycles of {cores} cores are more than possible")


def _lines(document: dict[str, Any], rows: list[KernelRow], answer: Answer, bandwidth: int) -> list[str]:
    table = [
        (
            row.kernel,
            style.count(row.cycles),
            style.percent(row.share),
            style.fixed(row.ipc),
            style.fixed(row.work / row.cycles, 2) if row.cycles and row.work else "-",
            style.percent(row.l1d_refill, 2),
        )
        for row in rows
    ]
    lines = style.table(("kernel", "cycles", "share %", "IPC", "work/cycle", "L1D refill %"), table)
    points = roofline(rows)
    slope = bandwidth / answer.counter_hz if answer.counter_hz else 0.0
    if points and slope:
        lines += ["", *draw_roofline(points, slope), ""]
        lines += style.table(
            ("", "kernel", "MAC/cycle", "MAC/byte", "% of roof"),
            [
                (
                    letter,
                    point.kernel,
                    style.fixed(point.macs_per_cycle, 2),
                    style.fixed(point.macs_per_byte, 1),
                    style.percent(point.of_roof(slope)),
                )
                for letter, point in zip("abcdefghijklmnop", points, strict=False)
            ],
            text=(0, 1),
        )
    rate = f"{style.fixed(document['tokens_per_s'], 2)} tokens/s"
    pairs = [
        ("tokens", f"{document['tokens']}, {style.count(document['total_cycles'])} cycles"),
        ("rate", f"{rate}, {style.count(round(document['cycles_per_token']))} cycles a token"),
    ]
    if parts := document["breakdown"]:
        whole = sum(parts.values())
        shares = (f"{name} {style.percent(part / whole)} %" for name, part in parts.items())
        pairs.append(("of all cores' cycles", ", ".join(shares)))
    if npu := document["npu"]:
        what = f"{npu['jobs']} jobs, busy {style.percent(npu['use'])} % of the time, overlap"
        pairs.append(("NPU", f"{what} {style.percent(npu['overlap'])} %"))
        bounds = (f"{name} {style.count(round(npu[name + '_bound']))}" for name in ("npu", "core", "bus"))
        pairs.append(("bounds", f"{', '.join(bounds)} cycles: time is {style.fixed(npu['ratio'], 2)} of the largest"))
    return [*lines, "", *style.pairs(pairs), "", str(answer.badge)]
