# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maxconsole.boards.ranges import MemoryRange, aligned, first_overlap, show_bytes, subtract

RANGES = st.lists(st.builds(MemoryRange, st.integers(0, 200), st.integers(1, 60)), max_size=6)


def addresses(ranges: list[MemoryRange] | tuple[MemoryRange, ...]) -> set[int]:
    return {address for part in ranges for address in range(part.base, part.end)}


@given(RANGES, RANGES)
def test_subtract_leaves_exactly_the_addresses_that_no_hole_has(
    ranges: list[MemoryRange], holes: list[MemoryRange]
) -> None:
    rest = subtract(ranges, holes)
    assert addresses(rest) == addresses(ranges) - addresses(holes)
    assert list(rest) == sorted(rest)
    assert all(part.size_bytes > 0 for part in rest)


@given(RANGES, st.sampled_from([1, 2, 8, 64]))
def test_aligned_parts_are_the_largest_inside_their_range(ranges: list[MemoryRange], alignment: int) -> None:
    for part in aligned(ranges, alignment):
        assert part.base % alignment == part.end % alignment == 0
    whole = {a for r in ranges for a in range(r.base, r.end) if r.base <= a // alignment * alignment}
    inside = {
        a
        for a in whole
        if any(r.base <= a // alignment * alignment and -(-(a + 1) // alignment) * alignment <= r.end for r in ranges)
    }
    assert addresses(aligned(ranges, alignment)) == inside


@given(RANGES)
def test_first_overlap_finds_one_if_there_is_one(ranges: list[MemoryRange]) -> None:
    found = first_overlap(ranges)
    shared = sum(part.size_bytes for part in ranges) > len(addresses(ranges))
    assert (found is not None) == shared
    if found is not None:
        assert found[0].overlaps(found[1])


def test_sizes_are_shown_in_the_unit_that_suits_them() -> None:
    assert [show_bytes(size) for size in (70, 12_800, 96 << 20)] == ["70 bytes", "12.5 KiB", "96.0 MiB"]
