# SPDX-License-Identifier: Apache-2.0
"""How many bytes a model takes of each pool: the one place on the console's side that knows.

The firmware takes the same when it binds a model: its side is described at the top of `firmware/engine/forward.h` and
in `firmware/memory/kv_ring.h`. The board reports what it took, and a system test compares the two.
"""

from __future__ import annotations

from maxconsole.boards.facts import ModelFacts
from maxconsole.boards.ranges import align_up
from maxconsole.schema.image import GROUP, IMAGE_ALIGN, PANEL_COLUMNS
from maxconsole.schema.npu import NPU_BLOCK_KEYS, NPU_PAGE_KEYS

SINKS = 4
"""First tokens of a conversation that stay visible after the window has moved on."""
KV_PAGE_TOKENS = 32

NPU_HALVES = 2
"""Parts of a batch that the NPU and the cores work on in turn."""

_F32_BYTES = 4
_TOKEN_BYTES = 4
_GROUP_SCALE_BYTES = 8  # integer scale and sum of a group of quantized activations
_PIECES = 4  # of attention that the NPU has at once
_PIECE_TOKENS = 8  # for each core
_FACTOR_BYTES = 8  # of a row and block
_ADDRESS_BYTES = 8
_BLOCK_SCALE_BYTES = 4  # of a tile: a block has a group at least
_TILE_ROWS = 8  # quantized rows are padded to
_FEW_ROWS = 3  # that are multiplied one by one
_HALF_SUM_BYTES = 4  # sum of the group's first half, for formats with two scales in a group


def kv_pages(context: int, batch: int) -> int:
    """Pages of the KV ring, sink page included.

    Behind the sink page there is room for the window and a batch, wherever in a page they start, so that a batch can be
    appended before its queries run.
    """
    return 1 + (context - SINKS + batch + 2 * KV_PAGE_TOKENS - 2) // KV_PAGE_TOKENS


def kv_bytes_per_token(facts: ModelFacts) -> int:
    """Bytes of one token's keys and values over all layers: int8, with an f32 scale for each."""
    return facts.layers * facts.kv_heads * (2 * facts.head_dim + 2 * _F32_BYTES)


def kv_cache_bytes(facts: ModelFacts, context: int, batch: int) -> int:
    """Bytes taken from the KV_CACHE pool: keys, values and the tokens' ids."""
    return kv_pages(context, batch) * KV_PAGE_TOKENS * (kv_bytes_per_token(facts) + _TOKEN_BYTES)


def activation_buffers(facts: ModelFacts, batch: int, cores: int) -> dict[str, int]:
    """Buffers of one forward pass over `batch` tokens on `cores` cores, in bytes; each is whole cache lines."""
    query, kv = facts.heads * facts.head_dim, facts.kv_heads * facts.head_dim
    k = align_up(max(facts.hidden, facts.ffn, query), 2 * GROUP)
    ffn = align_up(facts.ffn, 2 * GROUP)
    rows = align_up(batch, _TILE_ROWS)
    groups = rows * k // GROUP
    buffers = {
        "residual stream": batch * facts.hidden * _F32_BYTES,
        "normalized rows of each core": cores * _TILE_ROWS * facts.hidden * _F32_BYTES,
        "queries, attention output": batch * query * _F32_BYTES,
        "keys, values": 2 * align_up(batch * kv * _F32_BYTES, IMAGE_ALIGN),
        "gate": (batch + 1) * facts.ffn * _F32_BYTES,
        "outputs of few rows": _FEW_ROWS * max(facts.hidden, facts.ffn) * _F32_BYTES,
        "columns of each core": cores * batch * PANEL_COLUMNS * _F32_BYTES,
        "quantized rows": rows * k,
        "quantized rows: group scales and sums": groups * _GROUP_SCALE_BYTES,
        "quantized rows: half sums": groups * _HALF_SUM_BYTES,
        "quantized rows: row scales": rows * _F32_BYTES,
        "gate times up as tiles": rows * ffn,
        "gate times up as tiles: block scales": rows * ffn // GROUP * _BLOCK_SCALE_BYTES,
        "gate times up as tiles: row scales": rows * _F32_BYTES,
        "rotations": (batch + 1) * facts.head_dim * _F32_BYTES,
        "weight panel of each core": cores * PANEL_COLUMNS * k,
        "weight panel: scales": cores * align_up(k // GROUP * PANEL_COLUMNS * 2 * _F32_BYTES, IMAGE_ALIGN),
        "weight panel: column factors": cores * PANEL_COLUMNS * _F32_BYTES,
        "logits": align_up(facts.vocabulary, PANEL_COLUMNS) * _F32_BYTES,
        "sampled tokens": align_up(facts.vocabulary, 32) // 8,
    }
    return {name: align_up(size, IMAGE_ALIGN) for name, size in buffers.items()}


def npu_buffers(facts: ModelFacts, context: int, batch: int, cores: int) -> dict[str, int]:
    """Buffers that the NPU reads and writes (`struct offload_buffers` of the firmware), in bytes."""
    query, kv = facts.heads * facts.head_dim, facts.kv_heads * facts.head_dim
    k = align_up(max(facts.hidden, facts.ffn, query), 2 * GROUP)
    # The first half has more rows than the second: OFFLOAD_FIRST_ROWS of the firmware, rounded to a tile for each core.
    rows = align_up(min(batch, batch * 9 // 16 + _TILE_ROWS * cores), _TILE_ROWS)
    groups = rows * k // GROUP
    buffers = {
        "quantized rows of each half": rows * k,
        "group scales and sums of each half": groups * _GROUP_SCALE_BYTES,
        "half sums of each half": groups * _HALF_SUM_BYTES,
        "row scales of each half": rows * _F32_BYTES,
    }
    outputs = {
        "queries, keys, values": query + 2 * kv,
        "gate, up": 2 * facts.ffn,
        "output of attn_output or ffn_down": facts.hidden,
    }
    sizes = {name: NPU_HALVES * align_up(size, IMAGE_ALIGN) for name, size in buffers.items()}
    blocks = context // NPU_BLOCK_KEYS + 4
    rows = _PIECE_TOKENS * cores * facts.heads // facts.kv_heads * blocks
    pieces = {
        "probabilities": 2 * rows * NPU_BLOCK_KEYS,
        "attention's factors": rows * _FACTOR_BYTES,
        "sums of values": rows * facts.head_dim * _F32_BYTES,
        "addresses of pages": blocks * NPU_BLOCK_KEYS // NPU_PAGE_KEYS * _ADDRESS_BYTES,
    }
    sizes |= {name: _PIECES * align_up(size, IMAGE_ALIGN) for name, size in pieces.items()}
    return sizes | {name: align_up(batch * width * _F32_BYTES, IMAGE_ALIGN) for name, width in outputs.items()}


def npu_bytes(facts: ModelFacts, context: int, batch: int, cores: int) -> int:
    """Bytes taken from the NPU's carve-out, where it has that many."""
    return sum(npu_buffers(facts, context, batch, cores).values())


def activation_bytes(facts: ModelFacts, batch: int, cores: int) -> int:
    """Bytes taken from the ACTIVATION pool of a board with that many cores."""
    return sum(activation_buffers(facts, batch, cores).values())
