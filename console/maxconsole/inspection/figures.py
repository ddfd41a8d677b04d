# SPDX-License-Identifier: Apache-2.0
"""What one pass through a loop does: counted from its instructions, bounded by the timing model's port table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maxconsole.inspection.code import Instruction
from maxconsole.inspection.loops import Loop
from maxconsole.inspection.model import FLAGS, VECTOR_0, Bound, Traits
from maxconsole.telemetry.bounds import PEAK_MACS

#: Multiply-accumulates for each lane of the result. The first group that a loop has counts: products of a later
#: group then only scale the sums of the first.
_MAC_GROUPS: tuple[Mapping[str, int], ...] = (
    {"sdot": 4, "udot": 4},
    dict.fromkeys(("smlal", "smlal2", "umlal", "umlal2", "mla"), 1),
    {"fmla": 1},
)
_LANES = re.compile(r"v\d+\.(\d+)[bhsd]")
_VECTOR = re.compile(r"\b[vqdshb](\d+)")


@dataclass(frozen=True, slots=True)
class Banks:
    """Vector registers of a loop by what they are for, as numbers; each stands in one bank.

    rows: the operands of SDOT that it takes one element of, or its second one. columns: its other operands.
    accumulators: carried from one pass to the next. constants: only read. scratch: the rest.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    accumulators: tuple[int, ...]
    constants: tuple[int, ...]
    scratch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoopFigures:
    """One pass through all instructions of a loop, those of nested loops once. Bound in cycles."""

    start: int  # address of the first instruction
    end: int  # address of the last one
    depth: int
    innermost: bool
    branches_inside: bool
    instructions: int
    stack_loads: int
    stack_stores: int
    calls: int
    general_registers: int
    vector_registers: int
    banks: Banks
    mix: Mapping[str, int]  # by class of firmware/virtual/a64_classes.h, the most frequent first
    macs: int
    bound: Bound

    @property
    def stack_accesses(self) -> int:
        return self.stack_loads + self.stack_stores

    @property
    def of_peak(self) -> float | None:
        """Share of the peak that the port bound allows; None where the loop multiplies nothing."""
        return self.macs / self.bound.cycles / PEAK_MACS if self.macs and self.bound.cycles else None


def count_loop(
    loop: Loop, bound: Bound, instructions: Sequence[Instruction], traits: Sequence[Traits], on_stack: frozenset[int]
) -> LoopFigures:
    """The figures of `loop`; `on_stack` are the indices of all instructions that touch the stack."""
    members = [(instructions[index], traits[index]) for index in loop.members]
    stack = [traits[index] for index in loop.members if index in on_stack]
    used = frozenset().union(*(_registers(one) for _, one in members))
    stores = sum(one.access != "load" for one in stack)
    return LoopFigures(
        start=instructions[loop.members[0]].address,
        end=instructions[loop.members[-1]].address,
        depth=loop.depth,
        innermost=loop.innermost,
        branches_inside=loop.branches_inside,
        instructions=len(members),
        stack_loads=len(stack) - stores,
        stack_stores=stores,
        calls=sum(one.call for one, _ in members),
        general_registers=sum(register < VECTOR_0 for register in used),
        vector_registers=sum(VECTOR_0 <= register < FLAGS for register in used),
        banks=_banks(members),
        mix=dict(Counter(one.kind for _, one in members).most_common()),
        macs=count_macs([one for one, _ in members]),
        bound=bound,
    )


def count_macs(instructions: Sequence[Instruction]) -> int:
    """Multiply-accumulates: those of SDOT and UDOT; without them of SMLAL, MLA and their like; or of FMLA."""
    for group in _MAC_GROUPS:
        macs = sum(group.get(one.mnemonic, 0) * _lanes(one) for one in instructions)
        if macs:
            return macs
    return 0


def _lanes(one: Instruction) -> int:
    match = _LANES.match(one.operands)
    return int(match[1]) if match else 0  # SMULL and its like of general registers


def _registers(traits: Traits) -> frozenset[int]:
    extra = {register for register in (traits.accumulator, traits.base) if register is not None}
    return traits.read | traits.written | extra


def _banks(members: Sequence[tuple[Instruction, Traits]]) -> Banks:
    rows: set[int] = set()
    columns: set[int] = set()
    read_first: set[int] = set()
    written: set[int] = set()
    used: set[int] = set()
    for one, traits in members:
        reads = traits.read if traits.accumulator is None else traits.read | {traits.accumulator}
        read_first |= reads - written
        written |= traits.written
        used |= _registers(traits)
        if one.mnemonic in ("sdot", "udot"):
            _, column, row = (VECTOR_0 + int(number) for number in _VECTOR.findall(one.operands)[:3])
            columns.add(column)
            rows.add(row)
    left = {register for register in used if VECTOR_0 <= register < FLAGS}
    found = []
    for bank in (read_first & written, rows, columns, read_first - written):
        found.append(tuple(register - VECTOR_0 for register in sorted(bank & left)))
        left -= bank
    accumulators, row_bank, column_bank, constants = found
    scratch = tuple(register - VECTOR_0 for register in sorted(left))
    return Banks(row_bank, column_bank, accumulators, constants, scratch)
