# SPDX-License-Identifier: Apache-2.0
"""How many bytes a model takes of each pool: the one place on the console's side that knows.

The firmware computes the same when it binds a model (`firmware/memory/kv_ring.c`, `firmware/engine/forward.c`); the
board reports what it took, and a system test compares the two. Every allocation is a multiple of 64 bytes, a cache
line.

KV cache: pages of 32 tokens for each layer and key-value head. A page holds int8 keys and values and one f32 scale
for each token's key and value: 32 * (2 * head_dim + 8) bytes. Page 0 keeps the first tokens (the sinks); the ring
behind it has room for the window and for one batch, so that a batch can be appended before its queries run.
"""

from __future__ import annotations

from maxconsole.boards.facts import ModelFacts
from maxconsole.boards.ranges import align_up
from maxconsole.schema.image import GROUP, IMAGE_ALIGN, PANEL_COLUMNS

SINKS = 4
"""First tokens of a conversation that stay visible after the window has moved on."""
KV_PAGE_TOKENS = 32
_SCALE_BYTES = 4


def kv_slots(context: int, batch: int) -> int:
    """Token slots of the ring, sink page included, for `context` visible tokens and batches of `batch` tokens."""
    return KV_PAGE_TOKENS + align_up(context - SINKS + batch, KV_PAGE_TOKENS)


def kv_bytes_per_token(facts: ModelFacts) -> int:
    """Bytes that one token takes over all layers: int8 key and value, an f32 scale for each."""
    return facts.layers * facts.kv_heads * (2 * facts.head_dim + 2 * _SCALE_BYTES)


def kv_cache_bytes(facts: ModelFacts, context: int, batch: int) -> int:
    """Bytes taken from the KV_CACHE pool."""
    return kv_slots(context, batch) * kv_bytes_per_token(facts)


def activation_bytes(facts: ModelFacts, context: int, batch: int) -> int:
    """Bytes taken from the ACTIVATION pool: scratch of one forward pass over `batch` tokens."""
    del context
    widest = max(facts.hidden, facts.ffn, facts.heads * facts.head_dim)
    query, key = facts.heads * facts.head_dim, facts.kv_heads * facts.head_dim
    row = 4 * (2 * facts.hidden + 2 * query + 2 * key + 2 * facts.ffn + facts.head_dim)
    quantized = align_up(widest, 2 * GROUP) * 2
    logits = 4 * align_up(facts.vocabulary, PANEL_COLUMNS) * 2
    return align_up(batch * (row + quantized), IMAGE_ALIGN) + logits + (1 << 20)
