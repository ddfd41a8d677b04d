# SPDX-License-Identifier: Apache-2.0
"""`maxconsole ask`: a prompt to the model on a board, the answer as it comes, and what it cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from maxconsole.boards import DEFAULT_BOARD, load_board
from maxconsole.boards.events import choose_events, event_name
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.cli import options
from maxconsole.cli.asking import Asking
from maxconsole.cli.figures import answer_lines, document
from maxconsole.cli.progress import reporter
from maxconsole.cli.prompts import prompt_text
from maxconsole.cli.shell import EXIT_INTERRUPTED, print_json, print_lines
from maxconsole.errors import UserError
from maxconsole.schema import wire
from maxconsole.session.route import USUAL, Route
from maxconsole.session.sampling import GREEDY, Sampling
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup
from maxconsole.session.tuning import with_tuning

app = options.verb()
_DEFAULTS = Sampling()


@app.command(
    epilog='Examples: maxconsole ask "Why is the sky blue?"; maxconsole ask --greedy -n 32 "List three birds";'
    " git log -5 | maxconsole ask 'Sum this up:' --file -; maxconsole ask --chat --board rpi5-virtual --context 1024"
)
def ask(
    *,
    prompt: Annotated[str | None, typer.Argument(help="What to say to the model.", show_default=False)] = None,
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    system: Annotated[
        str | None, typer.Option(help="System message; without it the model's template decides.", show_default=False)
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Add a file to the prompt; - is stdin.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Continue the text as it is, without the chat template.")] = False,
    chat: Annotated[bool, typer.Option("--chat", help="Go on asking; each line of stdin is a turn.")] = False,
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-n", min=1, help="Length limit of an answer.")] = 128,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Always the likeliest token: repeatable to the bit.")
    ] = False,
    temperature: Annotated[float, typer.Option(min=0.0)] = _DEFAULTS.temperature,
    top_k: Annotated[int, typer.Option(min=0, help="Candidates; 0: as many as the firmware holds.")] = _DEFAULTS.top_k,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0)] = _DEFAULTS.top_p,
    repeat_penalty: Annotated[float, typer.Option(min=0.0, help="1 is none.")] = _DEFAULTS.repeat_penalty,
    seed: Annotated[int | None, typer.Option(min=0, help="For the same answer again.", show_default=False)] = None,
    logprobs: Annotated[
        bool, typer.Option("--logprobs", help="With --json: how likely each token was. Costs a pass over all logits.")
    ] = False,
    context: options.Context = DEFAULT_CONTEXT,
    batch: options.Batch = DEFAULT_BATCH,
    cores: options.Cores = None,
    int8: options.Int8 = USUAL.int8_tokens,
    npu: options.Npu = USUAL.npu,
    npu_f16: options.NpuF16 = USUAL.npu_f16,
    attention: options.Attention = USUAL.attention,
    tuning: options.Tuning = None,
    timing: options.Timing = options.TimingModel.FAST,
    link: options.Link = None,
    port: options.Port = None,
    baud: options.Baud = None,
    events: options.Events = "",
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep everything that the link carries, for `replay`.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Record over an existing file.")] = False,
    telemetry: Annotated[
        bool, typer.Option("--telemetry/--no-telemetry", help="Figures for each kernel after the answer.")
    ] = True,
    as_json: options.Json = False,
) -> None:
    """Ask the model on a board: the answer is streamed, then a table says what each kernel cost."""
    if chat and (as_json or raw):
        raise typer.BadParameter("--chat goes with neither --json nor --raw")
    sampling = (
        GREEDY
        if greedy
        else Sampling(temperature=temperature, top_k=top_k, top_p=top_p, repeat_penalty=repeat_penalty, seed=seed)
    )
    sampling = replace(sampling, logprobs=logprobs)
    text = prompt_text(prompt, file, chat=chat)
    setup = Setup(
        board=board,
        model=model,
        context=context,
        batch=batch,
        timing=timing.value,
        cores=cores,
        route=Route(int8, npu, npu_f16, attention),
        link=options.transport(link),
        port=port,
        baud=baud,
        record=record,
        overwrite=force,
    )
    setup = with_tuning(setup, tuning)
    profile = load_board(board)
    chosen = choose_events(profile, options.names(events))
    with reporter(silent=as_json) as progress, Session.open(setup, progress) as session:
        asking = Asking(session, sampling, max_tokens, progress, stream=not as_json)
        session.select_events(chosen)
        if not telemetry:
            session.link.request(wire.Set(setting=wire.Setting.EVENTS, value=0))
        if chat:
            asking.converse(session.prepared.model.conversation(system), text, figures=telemetry)
            return
        assert text is not None
        answer = asking.once(_tokens(session, text, system, raw=raw), text)
        if as_json:
            print_json(document(session.about, [answer]))
        elif telemetry:
            own = {event.number for event in profile.pmu.events}
            asked = {event: event_name(profile, event) for event in chosen if event not in own}
            print_lines(["", *answer_lines(answer, session.hello, asked)])
    if asking.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _tokens(session: Session, text: str, system: str | None, *, raw: bool) -> tuple[int, ...]:
    model = session.prepared.model
    if raw:
        if system is not None:
            raise UserError("a raw prompt has no system message", hint="leave out --raw or --system")
        return model.raw(text).prompt
    return model.conversation(system).ask(text).prompt
