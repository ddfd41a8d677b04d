# SPDX-License-Identifier: Apache-2.0
"""A request on a virtual board that counts what each instruction costs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

from maxconsole.errors import UserError
from maxconsole.inspection.measurement import Measurement
from maxconsole.session.emulated import EmulatedMachine
from maxconsole.session.flash import check_method
from maxconsole.session.machine import Load
from maxconsole.session.progress import Progress, silent
from maxconsole.session.results import Answer
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare


@dataclass(frozen=True, slots=True)
class Measured:
    """The request, what it was asked of, and what it cost."""

    prepared: Prepared
    answer: Answer
    measurement: Measurement


def measure_hot_spots(setup: Setup, text: str, max_new: int, progress: Progress = silent) -> Measured:
    """Asks `text` of a board of its own, in mode "timed"; the answer is the likeliest one, of `max_new` tokens.

    What is counted before and after the request is left out. Raises what Session.open raises.
    """
    if setup.port is not None:
        raise UserError("only virtual boards count what each instruction costs")
    prepared = prepare(replace(setup, timing="timed"), progress)
    check_method(prepared.board)
    weights = (prepared.plan.weight.base, prepared.image.data)
    load = Load(prepared.board, prepared.firmware.elf, (weights,), "timed", hot_spots=True)
    with closing(EmulatedMachine(load, progress)) as machine, closing(Session(prepared, machine, progress)) as session:
        before = machine.hot_spots()
        prompt = prepared.model.conversation(None).ask(text).prompt
        generation = session.ask(prompt, GREEDY, max_new, progress, stops=False, words=text)
        for _ in generation:
            pass
        spots = machine.hot_spots().since(before)
    answer = generation.answer
    title = f"{answer.prompt_tokens}+{len(answer.tokens)} tokens of {prepared.model.name} on {prepared.board.name}"
    return Measured(prepared, answer, Measurement(prepared.firmware.build_id, title, spots))
