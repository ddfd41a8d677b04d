# SPDX-License-Identifier: Apache-2.0
"""What the virtual board's timing model knows of instructions: its own decoder and port table, run as a program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from maxconsole.errors import UserError
from maxconsole.inspection.code import INSTRUCTION_BYTES
from maxconsole.inspection.loops import Loop
from maxconsole.virtual.compiler import build_decoder

# Register numbers of firmware/virtual/a64_decode.h.
SP = 31
VECTOR_0 = 32
FLAGS = 64
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Traits:
    """What an instruction is and touches. Registers: 0 to 30 X, 31 SP, 32 to 63 V, 64 the flags; None for none.

    `sum_to` = `sum_of` + a constant, for the arithmetic that the model follows. `read` does not hold the accumulator,
    `written` no base register that is moved.
    """

    kind: str  # class of firmware/virtual/a64_classes.h
    access: str  # "none", "load", "store", "prefetch", ...
    base: int | None
    sum_to: int | None
    sum_of: int | None
    accumulator: int | None
    read: frozenset[int]
    written: frozenset[int]


@dataclass(frozen=True, slots=True)
class Resource:
    """Slots that a pass takes of a resource of the core, and the cycles that it needs for them at least."""

    name: str
    slots: int
    cycles: float


@dataclass(frozen=True, slots=True)
class Bound:
    """The least cycles for one pass through all instructions of a loop, and what of the core it occupies."""

    cycles: float
    resources: tuple[Resource, ...]

    @property
    def busiest(self) -> Resource:
        return max(self.resources, key=lambda one: one.cycles)


@dataclass(frozen=True, slots=True)
class Answer:
    """Traits of each instruction of a function, and the bound of each of its loops."""

    traits: tuple[Traits, ...]
    bounds: tuple[Bound, ...]


def consult(functions: Sequence[tuple[bytes, Sequence[Loop]]]) -> tuple[Answer, ...]:
    """Asks about the code of some functions and their loops, all at once.

    Raises ToolMissing without a C compiler for this host, UserError where the decoder does not compile or run.
    """
    starts = [0, *accumulate(len(code) // INSTRUCTION_BYTES for code, _ in functions)]
    ranges = [
        _ranges(loop.members, start) for start, (_, loops) in zip(starts, functions, strict=False) for loop in loops
    ]
    command = [str(build_decoder()), *ranges]
    code = b"".join(code for code, _ in functions)
    try:
        run = subprocess.run(command, input=code, capture_output=True, timeout=_SECONDS, check=True)
        answer = json.loads(run.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise UserError(f"the instruction decoder failed: {error}") from error
    traits = tuple(map(_traits, answer["instructions"]))
    bounds = iter([_bound(one, answer["ticks_per_cycle"]) for one in answer["loops"]])
    return tuple(
        Answer(traits[start:end], tuple(next(bounds) for _ in loops))
        for (start, end), (_, loops) in zip(pairwise(starts), functions, strict=True)
    )


def _ranges(members: Sequence[int], start: int) -> str:
    """`0-5,9-12` for ascending indices, which are counted from `start` on."""
    breaks = [index for index, (one, after) in enumerate(pairwise(members), 1) if after != one + 1]
    edges = pairwise([0, *breaks, len(members)])
    return ",".join(f"{start + members[first]}-{start + members[end - 1]}" for first, end in edges)


def _traits(answer: dict[str, Any]) -> Traits:
    return Traits(
        kind=answer["class"],
        access=answer["access"],
        base=_register(answer["base"]),
        sum_to=_register(answer["sum_to"]),
        sum_of=_register(answer["sum_of"]),
        accumulator=_register(answer["accumulator"]),
        read=frozenset(answer["read"]),
        written=frozenset(answer["written"]),
    )


def _register(number: int) -> int | None:
    return None if number < 0 else number


def _bound(answer: dict[str, Any], ticks_per_cycle: int) -> Bound:
    return Bound(
        answer["bound_ticks"] / ticks_per_cycle,
        tuple(Resource(one["name"], one["slots"], one["ticks"] / ticks_per_cycle) for one in answer["resources"]),
    )
