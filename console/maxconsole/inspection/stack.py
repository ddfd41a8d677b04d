# SPDX-License-Identifier: Apache-2.0
"""Which instructions touch the stack: through SP, a frame pointer, or another register that holds such an address."""

from __future__ import annotations

from collections.abc import Sequence

from maxconsole.inspection.code import Instruction
from maxconsole.inspection.loops import Block
from maxconsole.inspection.model import SP, VECTOR_0, Traits

_CLOBBERED_BY_CALLS = frozenset(range(19)) | {30}  # AAPCS64


def stack_accesses(
    instructions: Sequence[Instruction], traits: Sequence[Traits], blocks: Sequence[Block]
) -> frozenset[int]:
    """Indices of the loads, stores and atomics whose base may point into the stack.

    Follows sums of a stack address and anything through the control flow graph; addresses that were themselves stored
    and loaded again are not followed.
    """
    at_entry: list[frozenset[int] | None] = [None] * len(blocks)
    at_entry[0] = frozenset({SP})
    waiting = [0]
    touching: set[int] = set()
    while waiting:
        number = waiting.pop()
        pointers = set(at_entry[number] or ())
        for index in range(blocks[number].start, blocks[number].end):
            if traits[index].access in ("load", "store", "atomic") and traits[index].base in pointers:
                touching.add(index)
            _follow(instructions[index], traits[index], pointers)
        for successor in blocks[number].successors:
            before = at_entry[successor]
            merged = frozenset(pointers) | (before or frozenset())
            if merged != before:
                at_entry[successor] = merged
                waiting.append(successor)
    return frozenset(touching)


def _follow(one: Instruction, traits: Traits, pointers: set[int]) -> None:
    """Brings `pointers`, the general registers that may hold a stack address, behind an instruction."""
    if one.call:
        pointers -= _CLOBBERED_BY_CALLS
        return
    adds = traits.access == "none" and one.mnemonic in ("add", "sub") and not traits.read.isdisjoint(pointers)
    sums = adds or traits.sum_of in pointers
    pointers -= traits.written - {SP}
    if sums:
        pointers |= {register for register in traits.written if register < VECTOR_0}
