# SPDX-License-Identifier: Apache-2.0
"""The shapes and constants of a model, read from its metadata and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from gguf.constants import GGMLQuantizationType

from maxconsole.errors import UserError
from maxconsole.models.metadata import Metadata
from maxconsole.models.reader import GgufFile
from maxconsole.schema.image import GROUP, ROPE_PAIRS_MAX, Family

ROPE_FACTORS: Final = "rope_freqs.weight"
_LAYERS_MAX: Final = 1024
_WIDTH_MAX: Final = 1 << 20
_VOCABULARY_MAX: Final = 1 << 20
_CONTEXT_MAX: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """A decoder-only transformer with RMSNorm, SwiGLU, rotary positions and grouped-query attention."""

    family: Family
    name: str
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context_train: int
    rms_epsilon: float
    rope_theta: float
    rope_divisors: tuple[float, ...]  # of each pair's frequency, head_dim / 2 of them

    @property
    def rope_frequencies(self) -> npt.NDArray[np.float64]:
        """Radians per position of each pair: theta^(-2i/head_dim) over the file's divisor."""
        pair = np.arange(self.head_dim // 2, dtype=np.float64)
        return self.rope_theta ** (-2 * pair / self.head_dim) / np.array(self.rope_divisors, np.float64)

    @property
    def rope_step(self) -> tuple[int, ...]:
        """Phase per position of each pair in 2^-32 turns: position p is at (p * step) mod 2^32."""
        turns = self.rope_frequencies / (2 * np.pi) * 2.0**32
        return tuple(int(step) & 0xFFFFFFFF for step in np.rint(turns))


def read_hyperparameters(file: GgufFile) -> Hyperparameters:
    """Raises UserError for an unknown architecture, and for metadata that is missing, wrong or not supported."""
    meta = file.metadata
    family = read_family(meta)
    prefix = family.name.lower()
    hidden = meta.integer(f"{prefix}.embedding_length", GROUP, _WIDTH_MAX)
    heads = meta.integer(f"{prefix}.attention.head_count", 1, hidden)
    kv_heads = meta.integer(f"{prefix}.attention.head_count_kv", 1, heads, default=heads)
    head_dim = meta.integer(f"{prefix}.attention.key_length", 1, hidden, default=hidden // heads)
    shapes = Hyperparameters(
        family=family,
        name=meta.text("general.name", default=file.path.stem),
        layers=meta.integer(f"{prefix}.block_count", 1, _LAYERS_MAX),
        hidden=hidden,
        ffn=meta.integer(f"{prefix}.feed_forward_length", GROUP, _WIDTH_MAX),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=_vocabulary(file, prefix),
        context_train=meta.integer(f"{prefix}.context_length", 1, _CONTEXT_MAX),
        rms_epsilon=meta.real(f"{prefix}.attention.layer_norm_rms_epsilon"),
        rope_theta=meta.real(f"{prefix}.rope.freq_base", default=10000.0),
        rope_divisors=_rope_divisors(file, prefix, head_dim),
    )
    _check(shapes, meta, prefix)
    return shapes


def read_family(meta: Metadata) -> Family:
    """The model's family; UserError that names the architecture where it is not one of ours."""
    name = meta.text("general.architecture")
    known = {family.name.lower(): family for family in Family}
    if name not in known:
        raise UserError(
            f"{meta.path}: the architecture {name!r} is not supported",
            hint=f"supported: {', '.join(known)}",
        )
    return known[name]


def _vocabulary(file: GgufFile, prefix: str) -> int:
    """Rows of the embedding: the file's own vocab_size is optional, and sometimes counts no padding."""
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        return file.metadata.integer(f"{prefix}.vocab_size", 1, _VOCABULARY_MAX)
    return embedding.shape[0]


def _rope_divisors(file: GgufFile, prefix: str, head_dim: int) -> tuple[float, ...]:
    """Llama 3.1 stores a divisor per pair in a tensor; linear scaling divides every frequency alike."""
    meta = file.metadata
    kind = meta.text(f"{prefix}.rope.scaling.type", default="none")
    if kind not in ("none", "linear"):
        raise UserError(f"{file.path}: rotary positions scaled by {kind!r} are not supported")
    factor = meta.real(f"{prefix}.rope.scaling.factor", default=1.0) if kind == "linear" else 1.0
    pairs = head_dim // 2
    values = np.full(pairs, factor, np.float64)
    info = file.tensors.get(ROPE_FACTORS)
    if info is not None:
        if info.type != GGMLQuantizationType.F32 or info.shape != (pairs,):
            raise UserError(f"{file.path}: {ROPE_FACTORS} must be {pairs} values of type F32")
        values *= file.raw(info).reshape(-1).view("<f4")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise UserError(f"{file.path}: the divisors of the rotary frequencies must be positive numbers")
    return tuple(values.tolist())


def _check(shapes: Hyperparameters, meta: Metadata, prefix: str) -> None:
    """What the engine relies on, beyond the range of each value."""
    rules = (
        (shapes.heads % shapes.kv_heads == 0, f"{shapes.heads} heads cannot share {shapes.kv_heads} key-value heads"),
        (shapes.head_dim % 16 == 0, f"heads of {shapes.head_dim} are not a multiple of 16"),
        (shapes.head_dim <= 2 * ROPE_PAIRS_MAX, f"heads of {shapes.head_dim} are wider than {2 * ROPE_PAIRS_MAX}"),
        (shapes.hidden % GROUP == 0, f"the hidden size {shapes.hidden} is not a multiple of {GROUP}"),
        (shapes.ffn % GROUP == 0, f"the feed-forward size {shapes.ffn} is not a multiple of {GROUP}"),
        (
            shapes.heads * shapes.head_dim % GROUP == 0,
            f"{shapes.heads} heads of {shapes.head_dim} are not a multiple of {GROUP} together",
        ),
        (shapes.vocabulary <= _VOCABULARY_MAX, f"a vocabulary of {shapes.vocabulary} is larger than {_VOCABULARY_MAX}"),
        (0 < shapes.rms_epsilon < 1, f"an RMS epsilon of {shapes.rms_epsilon} is not between 0 and 1"),
        (shapes.rope_theta >= 1, f"a rotary base of {shapes.rope_theta} is below 1"),
        (meta.integer(f"{prefix}.expert_count", 0, 1 << 16, default=0) == 0, "mixtures of experts are not supported"),
        (
            meta.integer(f"{prefix}.rope.dimension_count", 0, _WIDTH_MAX, default=shapes.head_dim) == shapes.head_dim,
            "rotary positions on a part of each head are not supported",
        ),
        (
            meta.integer(f"{prefix}.attention.value_length", 1, _WIDTH_MAX, default=shapes.head_dim) == shapes.head_dim,
            "values of another width than keys are not supported",
        ),
        (
            meta.integer(f"{prefix}.attention.sliding_window", 0, _CONTEXT_MAX, default=0) == 0,
            "sliding-window attention is not supported",
        ),
    )
    for holds, problem in rules:
        if not holds:
            raise UserError(f"{meta.path}: {problem}")
