# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from assembled import ADDRESS, assemble, take_apart
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.inspection.code import Instruction, disassemble
from maxconsole.inspection.loops import find_blocks, find_loops

NESTED = """
        mov     x2, #3
outer:  mov     x3, #4
inner:  subs    x3, x3, #1
        b.ne    inner
        subs    x2, x2, #1
        b.ne    outer
        ret
"""


def test_nested_loops_are_found_with_their_nest() -> None:
    outer, inner = find_loops(disassemble(assemble(NESTED), ADDRESS))
    assert (outer.members, outer.depth, outer.innermost, outer.parent) == ((1, 2, 3, 4, 5), 1, False, None)
    assert (inner.members, inner.depth, inner.innermost, inner.parent) == ((2, 3), 2, True, 0)


def test_a_jump_back_from_cold_code_is_no_loop() -> None:
    code = "cmp x0, #0; b.eq cold; back: add x1, x1, #1; ret; cold: mov x1, #7; b back"
    assert find_loops(disassemble(assemble(code), ADDRESS)) == ()


def test_a_loop_that_is_entered_at_its_test_holds_its_whole_body() -> None:
    code = "b test; body: add x1, x1, #1; test: subs x0, x0, #1; b.ne body; ret"
    (loop,) = find_loops(disassemble(assemble(code), ADDRESS))
    assert loop.members == (1, 2, 3)
    assert loop.header == 2


def test_two_ways_back_to_a_header_are_one_loop_with_branches_inside() -> None:
    code = "top: subs x0, x0, #1; b.mi top; add x1, x1, #1; cbnz x0, top; ret"
    (loop,) = find_loops(disassemble(assemble(code), ADDRESS))
    assert loop.members == (0, 1, 2, 3)
    assert loop.branches_inside


def test_a_call_does_not_end_a_loop_and_a_tail_call_leaves_it() -> None:
    code = "top: bl away; subs x0, x0, #1; b.ne top; b away; .skip 64; away: ret"
    instructions = disassemble(assemble(code)[:16], ADDRESS)
    (loop,) = find_loops(instructions)
    assert loop.members == (0, 1, 2)
    assert find_blocks(instructions)[-1].successors == ()


def test_what_a_jump_table_leads_to_is_part_of_the_function() -> None:
    code = "br x1; one: subs x0, x0, #1; b.ne one; ret; two: subs x0, x0, #2; b.ne two; ret"
    assert [loop.members for loop in find_loops(disassemble(assemble(code), ADDRESS))] == [(1, 2), (4, 5)]


@given(st.lists(st.tuples(st.integers(-6, 6), st.booleans()) | st.none(), min_size=1, max_size=24))
def test_loops_of_any_function_are_disjoint_or_nested(branches: list[tuple[int, bool] | None]) -> None:
    function = [
        Instruction(ADDRESS + 4 * index, "nop", "")
        if branch is None
        else Instruction(ADDRESS + 4 * index, "b", "", ADDRESS + 4 * (index + branch[0]), ends=branch[1])
        for index, branch in enumerate(branches)
    ]
    loops = find_loops(function)
    for loop in loops:
        assert loop.header in loop.members
        if loop.parent is not None:
            assert set(loop.members) < set(loops[loop.parent].members)
            assert loop.depth == loops[loop.parent].depth + 1
        if loop.innermost:
            assert not any(set(other.members) < set(loop.members) for other in loops)


def test_a_function_without_branches_has_no_loop() -> None:
    assert take_apart("add x0, x0, x1; ret").figures == ()
