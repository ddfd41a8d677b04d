# SPDX-License-Identifier: Apache-2.0
"""The KV ring against a list of tokens, through any sequence of appending and rewinding."""

from __future__ import annotations

import ctypes

import kernel_library as kl
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st


def visible(position: int, context: int) -> list[int]:
    """Positions that a query sees, straight from the rule."""
    window = context - kl.SINKS
    return [q for q in range(position + 1) if q < kl.SINKS or q > position - window]


def append(library: ctypes.CDLL, ring: kl.KvRing, ids: list[int]) -> None:
    tokens = np.array(ids, np.uint32)
    library.kv_ring_append(ctypes.byref(ring), ctypes.c_void_p(kl.address(tokens)), len(ids))


@settings(max_examples=60, deadline=None)
@given(
    context=st.integers(kl.SINKS + 1, 150),
    batch=st.integers(1, kl.BOARD_BATCH),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), min_size=1, max_size=60),
)
def test_whatever_a_query_may_see_is_there(
    library: ctypes.CDLL, context: int, batch: int, steps: list[tuple[bool, int]]
) -> None:
    shape = kl.KvShape(1, 1, 16, context, batch)
    ring, _memory = kl.ring(library, shape)
    history: list[int] = []
    next_id = 1
    for rewinds, amount in steps:
        if rewinds:
            keep = amount % (len(history) + 2)
            if not library.kv_ring_holds(ctypes.byref(ring), keep):
                # Only what does not exist, or what a query at `keep` would miss, may be refused.
                assert keep > len(history) or keep + 2 * kl.PAGE_TOKENS > context - kl.SINKS
                continue
            library.kv_ring_rewind(ctypes.byref(ring), keep)
            del history[keep:]
        first = len(history)
        count = amount % batch + 1
        ids = list(range(next_id, next_id + count))
        next_id += count
        append(library, ring, ids)
        history += ids
        assert ring.length == len(history)
        seen = {page for p in range(first, len(history)) for page in {q // 32 for q in visible(p, context)}}
        physical = {library.host_physical_page(ctypes.byref(ring), page) for page in seen}
        assert len(physical) == len(seen)
        assert max(physical) < ring.page_count
        for position in (first, len(history) - 1):
            for q in visible(position, context):
                assert library.kv_ring_token(ctypes.byref(ring), q) == history[q]


def test_a_ring_larger_than_its_map_is_refused(library: ctypes.CDLL) -> None:
    shape = kl.KvShape(1, 1, 16, 4 * kl.BOARD_CONTEXT, kl.BOARD_BATCH)
    pool = kl.MemoryPool(b"kv", 0, 1 << 40, 0)
    assert not library.kv_ring_init(ctypes.byref(kl.KvRing()), ctypes.byref(shape), ctypes.byref(pool))


def test_tokens_before_the_window_can_no_longer_be_kept(library: ctypes.CDLL) -> None:
    ring, _memory = kl.ring(library, kl.KvShape(1, 1, 16, 40, 8))
    for start in range(0, 400, 8):
        append(library, ring, list(range(start, start + 8)))
    holds = [library.kv_ring_holds(ctypes.byref(ring), keep) for keep in range(401)]
    assert all(holds[: kl.PAGE_TOKENS + 1])  # page 0 stays
    assert not any(holds[kl.PAGE_TOKENS + 1 : 300])
    assert all(holds[392:])
