# SPDX-License-Identifier: Apache-2.0
"""Which tensors a model family consists of, by their GGUF names, in the order in which the engine reads them.

A family is one entry of `_FAMILIES`: a function that lists its tensors. The packer, the facts and the oracle all go by
that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from maxconsole.errors import UserError
from maxconsole.models.hyperparameters import ROPE_FACTORS, Hyperparameters
from maxconsole.models.reader import GgufFile, TensorInfo
from maxconsole.schema.image import Family, TensorRole


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor that the family needs. `columns` is 0 for a vector of `rows` elements."""

    role: TensorRole
    layer: int
    name: str
    rows: int
    columns: int
    interleaved_heads: int = 0  # rows hold so many heads with rotary pairs interleaved; 0: rows stay as they are
    optional: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows, self.columns) if self.columns else (self.rows,)


@dataclass(frozen=True, slots=True)
class ModelTensor:
    """A tensor of the family, and where the file has it."""

    spec: TensorSpec
    info: TensorInfo


def family_tensors(file: GgufFile, shapes: Hyperparameters) -> tuple[ModelTensor, ...]:
    """The model's tensors in image order.

    Raises UserError that names the tensor which is missing, has another shape than the metadata says, or belongs to
    no model of this family.
    """
    found: list[ModelTensor] = []
    for spec in _FAMILIES[shapes.family](shapes):
        info = file.tensors.get(spec.name)
        if info is None:
            if spec.optional:
                continue
            raise UserError(f"{file.path}: the tensor {spec.name} is missing", hint="the file is no whole model")
        if info.shape != spec.shape:
            have, need = (" x ".join(map(str, shape)) for shape in (info.shape, spec.shape))
            raise UserError(f"{file.path}: the tensor {spec.name} is {have}, and the metadata makes it {need}")
        found.append(ModelTensor(spec, info))
    unknown = file.tensors.keys() - {tensor.spec.name for tensor in found} - {ROPE_FACTORS}
    if unknown:
        raise UserError(
            f"{file.path}: the tensor {min(unknown)} belongs to no {shapes.family.name.lower()} model that is supported"
        )
    return tuple(found)


def _llama(shapes: Hyperparameters) -> Iterator[TensorSpec]:
    """Its files store the rotary pairs of a head as neighboring rows (2i, 2i + 1)."""
    return _decoder(shapes, interleaved=True, biases=False)


def _qwen2(shapes: Hyperparameters) -> Iterator[TensorSpec]:
    """Its rotary pairs are rows i and i + head_dim / 2, and queries, keys and values have biases."""
    return _decoder(shapes, interleaved=False, biases=True)


def _decoder(shapes: Hyperparameters, *, interleaved: bool, biases: bool) -> Iterator[TensorSpec]:
    hidden, ffn = shapes.hidden, shapes.ffn
    query, key = shapes.heads * shapes.head_dim, shapes.kv_heads * shapes.head_dim
    pairs_of_q, pairs_of_k = (shapes.heads, shapes.kv_heads) if interleaved else (0, 0)
    yield TensorSpec(TensorRole.TOKEN_EMBEDDING, 0, "token_embd.weight", shapes.vocabulary, hidden)
    for layer in range(shapes.layers):
        block = f"blk.{layer}"
        yield TensorSpec(TensorRole.ATTN_NORM, layer, f"{block}.attn_norm.weight", hidden, 0)
        yield TensorSpec(TensorRole.ATTN_Q, layer, f"{block}.attn_q.weight", query, hidden, pairs_of_q)
        yield TensorSpec(TensorRole.ATTN_K, layer, f"{block}.attn_k.weight", key, hidden, pairs_of_k)
        yield TensorSpec(TensorRole.ATTN_V, layer, f"{block}.attn_v.weight", key, hidden)
        if biases:
            yield TensorSpec(TensorRole.ATTN_Q_BIAS, layer, f"{block}.attn_q.bias", query, 0)
            yield TensorSpec(TensorRole.ATTN_K_BIAS, layer, f"{block}.attn_k.bias", key, 0)
            yield TensorSpec(TensorRole.ATTN_V_BIAS, layer, f"{block}.attn_v.bias", key, 0)
        yield TensorSpec(TensorRole.ATTN_OUTPUT, layer, f"{block}.attn_output.weight", hidden, query)
        yield TensorSpec(TensorRole.FFN_NORM, layer, f"{block}.ffn_norm.weight", hidden, 0)
        yield TensorSpec(TensorRole.FFN_GATE, layer, f"{block}.ffn_gate.weight", ffn, hidden)
        yield TensorSpec(TensorRole.FFN_UP, layer, f"{block}.ffn_up.weight", ffn, hidden)
        yield TensorSpec(TensorRole.FFN_DOWN, layer, f"{block}.ffn_down.weight", hidden, ffn)
    yield TensorSpec(TensorRole.OUTPUT_NORM, 0, "output_norm.weight", hidden, 0)
    # Without a head of its own a model uses its embedding for it (tied).
    yield TensorSpec(TensorRole.OUTPUT, 0, "output.weight", shapes.vocabulary, hidden, optional=True)


_FAMILIES: Final[Mapping[Family, Callable[[Hyperparameters], Iterator[TensorSpec]]]] = {
    Family.LLAMA: _llama,
    Family.QWEN2: _qwen2,
}
