# SPDX-License-Identifier: Apache-2.0
"""Finds the loops of a function: natural loops of its control flow graph.

A backward branch alone does not make a loop, since compilers move cold code behind the rest and jump back from there:
its target must dominate it (Aho, Lam, Sethi, Ullman, "Compilers", 9.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxconsole.inspection.code import Instruction


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions `start` to `end` (exclusive, as indices) without a branch in between."""

    start: int
    end: int
    successors: tuple[int, ...]  # indices of blocks


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop. `members` are indices of instructions, ascending; a nested loop's are among those of its parent.

    `depth` is 1 for a loop in no other one. `parent` is an index into the function's loops.
    """

    header: int
    members: tuple[int, ...]
    depth: int
    innermost: bool
    parent: int | None
    branches_inside: bool  # not all passes execute all members


def find_blocks(instructions: Sequence[Instruction]) -> tuple[Block, ...]:
    """The function's basic blocks. A table of addresses is taken to lead where nothing else does."""
    index_of = {one.address: index for index, one in enumerate(instructions)}
    starts = {0}
    for index, one in enumerate(instructions):
        if not one.call and (one.target is not None or one.ends):
            starts.add(index + 1)
            if one.target in index_of:
                starts.add(index_of[one.target])
    edges = sorted(start for start in starts if start < len(instructions))
    number = {start: block for block, start in enumerate(edges)}
    ends = [*edges[1:], len(instructions)]
    successors: list[list[int]] = []
    for end in ends:
        last = instructions[end - 1]
        leads = [] if last.call or last.target not in index_of else [number[index_of[last.target]]]
        if not last.ends and end in number:
            leads.append(number[end])
        successors.append(leads)
    tables = {block for block, end in enumerate(ends) if instructions[end - 1].indirect}
    while True:
        reached = _reached(successors)
        missed = [block for block in number.values() if block not in reached]
        if not missed or not tables & reached:
            break
        for block in tables:
            successors[block].append(missed[0])
    return tuple(Block(start, end, tuple(leads)) for start, end, leads in zip(edges, ends, successors, strict=True))


def find_loops(instructions: Sequence[Instruction]) -> tuple[Loop, ...]:
    """All loops, by address of their headers; an outer one stands before those that it holds."""
    blocks = find_blocks(instructions)
    predecessors: list[list[int]] = [[] for _ in blocks]
    reached = sorted(_reached([block.successors for block in blocks]))
    for number in reached:
        for successor in blocks[number].successors:
            predecessors[successor].append(number)
    dominators = _dominators(predecessors)
    bodies: dict[int, set[int]] = {}
    for number in reached:
        for header in blocks[number].successors:
            if dominators[number] >> header & 1:
                bodies.setdefault(header, {header}).update(_body(header, number, predecessors))
    order = sorted(bodies, key=lambda header: (blocks[header].start, -len(bodies[header])))
    parents = {header: _parent(header, bodies) for header in order}
    return tuple(
        Loop(
            header=blocks[header].start,
            members=tuple(
                index for block in sorted(bodies[header]) for index in range(blocks[block].start, blocks[block].end)
            ),
            depth=_depth(header, parents),
            innermost=header not in parents.values(),
            parent=None if (parent := parents[header]) is None else order.index(parent),
            branches_inside=len(bodies[header]) > 1,
        )
        for header in order
    )


def _reached(successors: Sequence[Sequence[int]]) -> set[int]:
    """The blocks to which a way leads from the first one."""
    found, waiting = {0}, [0]
    while waiting:
        news = set(successors[waiting.pop()]) - found
        found |= news
        waiting += news
    return found


def _dominators(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """For each block the set of blocks, as bits, through which every way to it leads."""
    everything = (1 << len(predecessors)) - 1
    found = [1] + [everything] * (len(predecessors) - 1)
    changed = True
    while changed:
        changed = False
        for number in range(1, len(predecessors)):
            common = everything
            for before in predecessors[number]:
                common &= found[before]
            common |= 1 << number
            changed |= common != found[number]
            found[number] = common
    return found


def _body(header: int, end: int, predecessors: Sequence[Sequence[int]]) -> set[int]:
    body, waiting = {header, end}, [end]
    while waiting:
        block = waiting.pop()
        if block != header:
            waiting += [before for before in predecessors[block] if before not in body]
            body.update(predecessors[block])
    return body


def _parent(header: int, bodies: dict[int, set[int]]) -> int | None:
    holders = [other for other, body in bodies.items() if other != header and bodies[header] < body]
    return min(holders, key=lambda other: len(bodies[other]), default=None)


def _depth(header: int, parents: dict[int, int | None]) -> int:
    parent = parents[header]
    return 1 if parent is None else 1 + _depth(parent, parents)
