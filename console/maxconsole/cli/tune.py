# SPDX-License-Identifier: Apache-2.0
"""`maxconsole tune`: searches for the batch and the cores with which a model runs fastest on a board."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from maxconsole.boards import DEFAULT_BOARD
from maxconsole.boards.planner import BATCH_MAX
from maxconsole.cli import options, style
from maxconsole.cli.progress import reporter
from maxconsole.cli.shell import print_json, print_lines, say
from maxconsole.paths import cache_dir
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup
from maxconsole.session.speed import Workload
from maxconsole.session.tuner import Trial, best, open_study, response
from maxconsole.session.tuner import tune as search
from maxconsole.session.tuning import write_tuning

app = options.verb()
_BAR = 32


@app.command(
    epilog="Examples: maxconsole tune; maxconsole tune --board rpi5-virtual --trials 30 --out pi5.toml;"
    " maxconsole tune --study sqlite:////tmp/shared.db --json"
)
def tune(
    *,
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    prompt_tokens: Annotated[int, typer.Option(min=1, help="Length of the prompt that is timed.")] = 128,
    new_tokens: Annotated[int, typer.Option(min=2, help="Length of its answer.")] = 4,
    trials: Annotated[int, typer.Option(min=1, help="In all, those of earlier runs of the study included.")] = 16,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Database of the study, which several machines can share; a file in the cache if none is given.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the profile goes.")] = Path("tuning.toml"),
    timing: options.Timing = options.TimingModel.FAST,
    as_json: options.Json = False,
) -> None:
    """Find the batch and the numbers of cores that take the fewest cycles, and write them to a profile.

    `flash`, `ask` and `bench` use it with --tuning. None of these settings changes a result. A search that
    was interrupted goes on where it stopped.
    """
    workload = Workload("tune", prompt_tokens, new_tokens)
    batch = min(BATCH_MAX, prompt_tokens)
    setup = Setup(board=board, model=model, context=workload.context, batch=batch, timing=timing.value)
    with reporter(silent=as_json) as progress, Session.open(setup, progress) as session:
        prepared = session.prepared
        name = f"{board} {prepared.image.header.header_crc:08x} {prepared.firmware.build_id[:12]} {timing.value}"
        name += f" {prompt_tokens}+{new_tokens}"
        storage = study or f"sqlite:///{cache_dir('tuning') / 'studies.db'}"
        found = search(session, open_study(name, storage), workload, trials, progress)
        badge, model_name = str(session.badge), prepared.model.name
    fastest = best(found)
    about: dict[str, str | int | float] = {
        "board": board,
        "model": model_name,
        "build_id": prepared.firmware.build_id,
        "badge": badge,
        "prompt_tokens": prompt_tokens,
        "new_tokens": new_tokens,
        "prefill_cycles": fastest.prefill_cycles,
        "decode_cycles": fastest.decode_cycles,
        "trials": len(found),
    }
    write_tuning(out, fastest.tuning, about)
    if as_json:
        curves = response(found)
        print_json({**about, "best": asdict(fastest), "trials": [asdict(one) for one in found], "response": curves})
    else:
        print_lines([*_lines(found, fastest), "", badge])
    say(f"written: {out}")


def _lines(trials: tuple[Trial, ...], fastest: Trial) -> list[str]:
    lines: list[str] = []
    for name, curve in response(trials).items():
        what = "decode" if name == "decode_cores" else "prefill"
        most = max(curve.values())
        rows = [
            (
                f"{'* ' if getattr(fastest.tuning, name) == value else '  '}{value}",
                style.count(cycles),
                "#" * max(1, round(_BAR * cycles / most)) if most else "",
            )
            for value, cycles in curve.items()
        ]
        lines += [*style.table((name, f"{what} cycles", ""), rows, text=(0, 2)), ""]
    return [*lines, f"best of {len(trials)} trials: {style.count(fastest.cycles)} cycles"]
