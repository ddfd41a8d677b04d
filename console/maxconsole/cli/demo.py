# SPDX-License-Identifier: Apache-2.0
"""`maxconsole demo`: from nothing to a conversation with a model on a virtual board, step by step."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import Annotated, Any

import typer

from maxconsole import tui
from maxconsole.boards import DEFAULT_BOARD
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.cli import doctor, options, plan
from maxconsole.cli.asking import Asking
from maxconsole.cli.figures import answer_lines
from maxconsole.cli.playing import Playing
from maxconsole.cli.progress import Reporter, reporter
from maxconsole.cli.replay import speed_of
from maxconsole.cli.shell import EXIT_INTERRUPTED, print_json, print_lines, say
from maxconsole.cli.style import duration, emphasized
from maxconsole.errors import ToolMissing
from maxconsole.models import demo as demo_model
from maxconsole.session.checkup import checkup
from maxconsole.session.replay import ReplaySession, find_recording, list_recordings
from maxconsole.session.results import Answer
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare

app = options.verb()

#: The second needs the first: its answer shows that the board still has the conversation.
QUESTIONS = ("What is the capital of Japan?", "What can I see there?")
_MAX_TOKENS = 32
_SPEED = "4"  # a virtual board thinks for longer than one cares to watch
#: The one in which the KV ring wraps, so that every pane has something to show.
_TOURED = "long-chat"


@app.command(
    epilog="Examples: maxconsole demo; maxconsole demo --timing off; maxconsole demo --replay;"
    " maxconsole demo --headless; maxconsole demo --json"
)
def demo(
    *,
    model: options.Model = None,
    board: options.Board = DEFAULT_BOARD,
    context: options.Context = DEFAULT_CONTEXT,
    batch: options.Batch = DEFAULT_BATCH,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", "-n", min=1, help="Length limit of an answer.")
    ] = _MAX_TOKENS,
    timing: options.Timing = options.TimingModel.FAST,
    replay: Annotated[
        bool, typer.Option("--replay", help="Play the shipped recordings instead: no emulator, no compiler, no model.")
    ] = False,
    speed: Annotated[str, typer.Option(metavar="N|max", help="With --replay: so many times faster.")] = _SPEED,
    headless: Annotated[
        bool, typer.Option("--headless", help="Plain text instead of the console, as without a terminal.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Check the set-up, plan, build, flash, and ask two questions: a guided tour in the console on a terminal.

    Without a terminal it is plain text. Nothing is left running.
    """
    factor = speed_of(speed)
    if tui.has_terminal() and not (headless or as_json):
        choice = tui.Choice(board, model, context, batch, timing.value)
        played = find_recording(_TOURED) if replay else None
        raise typer.Exit(tui.tour(choice, QUESTIONS, played, max_tokens=max_tokens, speed=factor))
    show = _Show(silent=as_json)
    if replay:
        recordings = [_play(show, name, factor) for name in list_recordings()]
        if as_json:
            print_json({"recordings": recordings})
        return
    show.heading("1. What is needed")
    findings = checkup()
    show.lines(doctor.lines(findings))
    missing = [finding for finding in findings if finding.state == "missing"]
    if missing:
        raise ToolMissing(f"{missing[0].name}: {missing[0].found}", hint=missing[0].hint)
    if model is None:
        demo_model.fetch_demo(say)
    setup = Setup(board=board, model=model, context=context, batch=batch, timing=timing.value)
    with reporter(silent=as_json) as progress:
        prepared = prepare(setup, progress)
        _describe(show, prepared)
        show.heading("4. Flash and start")
        with Session.start(prepared, progress) as session:
            show.lines([f"{session.hello.board} runs {session.hello.model}, build {session.hello.build_id.hex()[:12]}"])
            answers, interrupted = _converse(show, session, progress, max_tokens)
    if as_json:
        print_json(
            {
                "doctor": [asdict(finding) for finding in findings],
                "plan": plan.document(prepared.plan),
                "build": {**asdict(prepared.firmware), "elf": str(prepared.firmware.elf)},
                "answers": [answer.to_json() for answer in answers],
            }
        )
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


class _Show:
    """Text for people, or silence while a document is made."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent

    def heading(self, text: str) -> None:
        self.lines(["", emphasized(text, sys.stdout)])

    def lines(self, lines: list[str]) -> None:
        if not self.silent:
            print_lines(lines)
            sys.stdout.flush()


def _play(show: _Show, name: str, speed: float) -> dict[str, Any]:
    """A shipped recording, played to its end; what it has shown, as JSON."""
    with ReplaySession.open(name, speed=speed) as session:
        facts = session.facts
        when = time.strftime("%Y-%m-%d", time.gmtime(facts.started_ns / 1e9))
        show.heading(f"{name}: {facts.model.get('file', 'no model')} on {facts.board}, recorded on {when}")
        playing = Playing(session, stream=not show.silent)
        playing.run()
        return {"name": name, **playing.document()}


def _describe(show: _Show, prepared: Prepared) -> None:
    show.heading("2. What goes where")
    show.lines(plan.lines(prepared.plan))
    show.heading("3. The firmware")
    built = prepared.firmware
    compiled = f"{built.compiled} files compiled, {built.reused} from the cache"
    show.lines([f"build {built.build_id[:12]} with {built.toolchain}: {compiled}, {duration(built.seconds)}"])


def _converse(show: _Show, session: Session, progress: Reporter, max_tokens: int) -> tuple[list[Answer], bool]:
    """Asks the questions; the answers, and whether the user has stopped one."""
    conversation = session.prepared.model.conversation()
    asking = Asking(session, GREEDY, max_tokens, progress, stream=not show.silent)
    answers: list[Answer] = []
    for number, question in enumerate(QUESTIONS, 5):
        show.heading(f"{number}. {question}")
        answers.append(asking.once(conversation.ask(question).prompt, question))
        conversation.answered(answers[-1].tokens)
        show.lines(["", *answer_lines(answers[-1], session.hello)])
        if asking.interrupted:
            break
    return answers, asking.interrupted
