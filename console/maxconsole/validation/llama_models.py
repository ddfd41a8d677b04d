# SPDX-License-Identifier: Apache-2.0
"""GGUF files of the shapes of published models, with random but valid weights.

What the weights say does not change how long a program takes that has no branch on them, and it keeps gigabytes off the
network. Blocks are scaled so that a matrix keeps the size of what it multiplies: all activations stay finite.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter, TokenType
from numpy.typing import NDArray
from tokenizers.pre_tokenizers import ByteLevel

from maxconsole import paths

Bytes = NDArray[np.uint8]
_SEED = 20


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder's dimensions, and which formats its matrices have.

    `more_bits` tells for each layer whether its value and down projections are in the larger format, Q6_K.
    """

    name: str
    architecture: str
    layers: int
    embedding: int
    hidden: int
    heads: int
    kv_heads: int
    vocabulary: int
    weights: Type
    head: Type
    biases: bool = False
    more_bits: Callable[[int], bool] = lambda layer: False

    @property
    def kv(self) -> int:
        """Length of a token's keys, and of its values."""
        return self.embedding // self.heads * self.kv_heads

    @property
    def layer_weights(self) -> int:
        """Of one layer's matrices."""
        return self.embedding * (2 * self.embedding + 2 * self.kv + 3 * self.hidden)

    def with_layers(self, layers: int) -> Shape:
        """The same with fewer layers."""
        return replace(self, layers=layers)

    @property
    def label(self) -> str:
        """For file names and progress."""
        return f"{self.name}-{self.layers}"

    @property
    def inputs(self) -> tuple[Path]:
        """What decides the file."""
        return (Path(__file__),)

    def file(self) -> Path:
        """The file, from the cache where it was made before."""
        digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
        path = paths.cache_dir("validation") / "models" / digest / f"{self.label}.gguf"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
                unfinished = Path(scratch) / path.name
                _write(self, unfinished)
                unfinished.replace(path)
        return path


def _every_second(layer: int) -> bool:
    """llama-quantize's Q4_K_M has 10 of 22 layers in the larger format; here any few layers have half of theirs."""
    return layer % 2 == 0


TINYLLAMA = Shape(
    "tinyllama-1.1b-q4_k_m", "llama", 22, 2048, 5632, 32, 4, 32_000, Type.Q4_K, Type.Q6_K, more_bits=_every_second
)
QWEN_05 = Shape("qwen2.5-0.5b-q4_0", "qwen2", 24, 896, 4864, 14, 2, 151_936, Type.Q4_0, Type.Q8_0, biases=True)
QWEN_15_K = Shape(
    "qwen2.5-1.5b-q4_k_m", "qwen2", 28, 1536, 8960, 12, 2, 151_936, Type.Q4_K, Type.Q6_K, True, more_bits=_every_second
)
LLAMA_1B = Shape(
    "llama-3.2-1b-q4_k_m", "llama", 16, 2048, 8192, 32, 8, 128_256, Type.Q4_K, Type.Q6_K, more_bits=_every_second
)
QWEN_15 = Shape("qwen2.5-1.5b-q4_0", "qwen2", 28, 1536, 8960, 12, 2, 151_936, Type.Q4_0, Type.Q6_K, biases=True)


def _write(shape: Shape, path: Path) -> None:
    writer = GGUFWriter(path, shape.architecture)
    writer.add_context_length(2048)
    writer.add_embedding_length(shape.embedding)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.embedding // shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(shape.vocabulary)
    _add_vocabulary(writer, shape.vocabulary)
    tensors = list(_tensors(shape))
    for name, rows, columns, kind in tensors:
        if kind is Type.F32:
            writer.add_tensor_info(name, (columns,), np.dtype(np.float32), columns * 4)
        else:
            row = columns // _BLOCKS[kind][0] * _BLOCKS[kind][1]
            writer.add_tensor_info(name, (rows, row), np.dtype(np.uint8), rows * row, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random = np.random.default_rng(_SEED)
    for name, rows, columns, kind in tensors:
        if kind is Type.F32:
            writer.write_tensor_data(np.full(columns, 0.0 if name.endswith("bias") else 1.0, np.float32))
        else:
            writer.write_tensor_data(_matrix(random, rows, columns, kind))
    writer.close()


def _add_vocabulary(writer: GGUFWriter, size: int) -> None:
    """The bytes, one pair of them, and marks that no text holds: enough to read any text."""
    bytes_ = sorted(ByteLevel.alphabet())
    pair = bytes_[0] + bytes_[1]
    marks = [f"<|{number}|>" for number in range(size - len(bytes_) - 1)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*bytes_, pair, *marks])
    writer.add_token_types([TokenType.NORMAL] * (len(bytes_) + 1) + [TokenType.CONTROL] * len(marks))
    writer.add_token_merges([f"{bytes_[0]} {bytes_[1]}"])
    writer.add_bos_token_id(size - 2)
    writer.add_eos_token_id(size - 1)


def _tensors(shape: Shape) -> Iterator[tuple[str, int, int, Type]]:
    """Name, rows, columns, format. A vector has one row."""
    wide, hidden, kv, weights = shape.embedding, shape.hidden, shape.kv, shape.weights
    yield "token_embd.weight", shape.vocabulary, wide, weights
    yield "output_norm.weight", 1, wide, Type.F32
    yield "output.weight", shape.vocabulary, wide, shape.head
    for layer in range(shape.layers):
        larger = Type.Q6_K if shape.more_bits(layer) else weights
        matrices = [("attn_q", wide, wide, weights), ("attn_k", kv, wide, weights), ("attn_v", kv, wide, larger)]
        matrices += [("attn_output", wide, wide, weights), ("ffn_gate", hidden, wide, weights)]
        matrices += [("ffn_up", hidden, wide, weights), ("ffn_down", wide, hidden, larger)]
        for name, rows, columns, kind in matrices:
            yield f"blk.{layer}.{name}.weight", rows, columns, kind
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", 1, wide, Type.F32
        for name, rows, _, _ in matrices[:3] if shape.biases else []:
            yield f"blk.{layer}.{name}.bias", 1, rows, Type.F32


def _half(value: float) -> list[int]:
    return list(np.float16(value).tobytes())


def _constants(kind: Type, columns: int) -> list[tuple[int, list[int]]]:
    """Bytes of each block that are not random: its factors. Offset, and what is there.

    The divisors are the standard deviation of what the random part of a block stands for, in units of its factor.
    """
    wanted = columns**-0.5
    match kind:
        case Type.Q4_0:
            return [(0, _half(wanted / 4.6))]
        case Type.Q8_0:
            return [(0, _half(wanted / 74))]
        case Type.Q4_K:
            return [(0, _half(wanted / 250)), (2, _half(wanted / 250 * 7.5))]
        case _:
            return [(208, _half(wanted / 1370))]


_BLOCKS = {Type.Q4_0: (32, 18), Type.Q8_0: (32, 34), Type.Q4_K: (256, 144), Type.Q6_K: (256, 210)}
"""Weights and bytes of a block."""


def _matrix(random: np.random.Generator, rows: int, columns: int, kind: Type) -> Bytes:
    weights, size = _BLOCKS[kind]
    blocks = random.integers(0, 256, (rows * columns // weights, size), np.uint8)
    for offset, constant in _constants(kind, columns):
        blocks[:, offset : offset + len(constant)] = constant
    return blocks.reshape(rows, -1)
