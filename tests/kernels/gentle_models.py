# SPDX-License-Identifier: Apache-2.0
"""Tiny models whose activations stay of one size from layer to layer, so that rounding is not blown up on its way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf.constants import GGML_QUANT_SIZES
from gguf.constants import GGMLQuantizationType as Q
from gguf.quants import quantize
from gguf_files import TOKENS, U8, write_model

#: Where a block of a K type has its fp16 factors, and what each is for weights with a standard deviation of 1.
_FACTORS = {
    Q.Q4_K: ((0, 1 / 240), (2, 7.5 / 240)),
    Q.Q5_K: ((0, 1 / 480), (2, 15.5 / 480)),
    Q.Q6_K: ((208, 1 / 1370),),
}


def gentle_rows(kind: Q, rows: int, columns: int, seed: int) -> U8:
    """[rows][bytes of a row], weights with a standard deviation of 1 / sqrt(columns)."""
    random = np.random.default_rng(seed)
    size = columns**-0.5
    if kind not in _FACTORS:
        weights = (random.normal(size=(rows, columns)) * size).astype(np.float32)
        return np.ascontiguousarray(quantize(weights, kind)).view(np.uint8).reshape(rows, -1)
    block, block_bytes = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (rows, columns // block, block_bytes), np.uint8)
    for at, factor in _FACTORS[kind]:
        blocks[..., at : at + 2] = np.full((*blocks.shape[:2], 1), factor * size, "<f2").view(np.uint8)
    return blocks.reshape(rows, -1)


def write_gentle_model(
    path: Path,
    *,
    matrix: Q = Q.Q8_0,
    hidden: int = 64,
    ffn: int = 96,
    layers: int = 2,
    heads: int = 4,
    kv_heads: int = 2,
    tied: bool = True,
    arch: str = "llama",
) -> Path:
    """As write_model, with such weights; logits have a standard deviation of about 1."""
    kv = kv_heads * (hidden // heads)
    shapes = {"token_embd.weight": (len(TOKENS), hidden)}
    if not tied:
        shapes["output.weight"] = (len(TOKENS), hidden)
    for layer in range(layers):
        shapes |= {
            f"blk.{layer}.attn_q.weight": (hidden, hidden),
            f"blk.{layer}.attn_k.weight": (kv, hidden),
            f"blk.{layer}.attn_v.weight": (kv, hidden),
            f"blk.{layer}.attn_output.weight": (hidden, hidden),
            f"blk.{layer}.ffn_gate.weight": (ffn, hidden),
            f"blk.{layer}.ffn_up.weight": (ffn, hidden),
            f"blk.{layer}.ffn_down.weight": (hidden, ffn),
        }
    rows = {name: (gentle_rows(matrix, *shape, seed=seed), matrix) for seed, (name, shape) in enumerate(shapes.items())}
    return write_model(
        path,
        matrix=matrix,
        hidden=hidden,
        ffn=ffn,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        tied=tied,
        replace=rows,
        arch=arch,
    )
