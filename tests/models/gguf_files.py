# SPDX-License-Identifier: Apache-2.0
"""Small model files for the tests, written by the package `gguf`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, TokenType
from gguf.quants import quantize

Q = GGMLQuantizationType
U8 = npt.NDArray[np.uint8]
Change = Callable[[GGUFWriter], None]

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
#: The bytes' printable stand-ins of GPT-2, in the order of the bytes.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_TEXTS = [chr(byte if byte in _PRINTABLE else 0x100 + _OTHERS.index(byte)) for byte in range(256)]
MERGES = ["h e", "l l", "he ll", "hell o", "\u0120 w", "o r", "or l", "orl d", "\u0120w orld"]
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENS = [*MARKS, *BYTE_TEXTS, *(merge.replace(" ", "") for merge in MERGES)]


def random_rows(kind: Q, rows: int, columns: int, seed: int = 0) -> U8:
    """Valid rows of any type, [rows][bytes of a row]; the K types' blocks are random bytes with plausible factors."""
    random = np.random.default_rng(seed)
    if kind not in (Q.Q4_K, Q.Q5_K, Q.Q6_K):
        spread = np.exp(random.normal(size=(rows, 1))) * np.exp(random.normal(size=(rows, columns)) / 2)
        weights = (random.normal(size=(rows, columns)) * spread * 0.05).astype(np.float32)
        return np.ascontiguousarray(quantize(weights, kind)).view(np.uint8).reshape(rows, -1)
    block, size = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (rows, columns // block, size), np.uint8)
    for at in (0, 2) if kind != Q.Q6_K else (208,):
        factors = (np.exp(random.normal(size=blocks.shape[:2])) * 1e-3).astype("<f2")
        blocks[..., at : at + 2] = factors[..., None].view(np.uint8)
    return blocks.reshape(rows, -1)


def write_model(
    path: Path,
    *,
    matrix: Q = Q.Q8_0,
    hidden: int = 64,
    ffn: int = 96,
    layers: int = 2,
    heads: int = 4,
    kv_heads: int = 2,
    tied: bool = True,
    rope_factors: npt.NDArray[np.float32] | None = None,
    change: Change | None = None,
    replace: dict[str, tuple[U8, Q]] | None = None,
    leave_out: tuple[str, ...] = (),
    arch: str = "llama",
    template: str | None = CHATML,
) -> Path:
    """A whole tiny model, llama or qwen2, with a byte-level vocabulary; `replace` gives some tensors other bytes."""
    writer = GGUFWriter(path, arch)
    writer.add_name("tiny test model")
    writer.add_block_count(layers)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_context_length(512)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    add_vocabulary(writer)
    if template is not None:
        writer.add_chat_template(template)
    if change is not None:
        change(writer)
    kv = kv_heads * (hidden // heads)
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(TOKENS), hidden), "output_norm.weight": (hidden,)}
    if not tied:
        shapes["output.weight"] = (len(TOKENS), hidden)
    if rope_factors is not None:
        writer.add_tensor("rope_freqs.weight", rope_factors)
    for layer in range(layers):
        block = f"blk.{layer}"
        shapes |= {
            f"{block}.attn_norm.weight": (hidden,),
            f"{block}.attn_q.weight": (hidden, hidden),
            f"{block}.attn_k.weight": (kv, hidden),
            f"{block}.attn_v.weight": (kv, hidden),
            f"{block}.attn_output.weight": (hidden, hidden),
            f"{block}.ffn_norm.weight": (hidden,),
            f"{block}.ffn_gate.weight": (ffn, hidden),
            f"{block}.ffn_up.weight": (ffn, hidden),
            f"{block}.ffn_down.weight": (hidden, ffn),
        }
        if arch == "qwen2":
            shapes |= {f"{block}.attn_{name}.bias": (rows,) for name, rows in (("q", hidden), ("k", kv), ("v", kv))}
    for name, shape in shapes.items():
        if name in leave_out:
            continue
        if replace and name in replace:
            data, kind = replace[name]
            writer.add_tensor(name, data, raw_dtype=kind)
        elif len(shape) == 1:
            random = np.random.default_rng(_seed(name))
            writer.add_tensor(name, random.uniform(0.5, 1.5, shape).astype(np.float32))
        else:
            _add_matrix(writer, name, random_rows(matrix, *shape, seed=_seed(name)), matrix)
    _finish(writer)
    return path


def write_vocabulary(path: Path, fields: dict[str, Any], tokens: list[str], **arrays: Any) -> Path:
    """A file with metadata only: `fields` by their full names, `arrays` after "tokenizer.ggml."."""
    writer = GGUFWriter(path, "llama")
    writer.add_array("tokenizer.ggml.tokens", tokens)
    for key, values in arrays.items():
        writer.add_array(f"tokenizer.ggml.{key}", values)
    for key, value in fields.items():
        adders = {bool: writer.add_bool, int: writer.add_uint32, str: writer.add_string}
        adders[type(value)](key, value)
    _finish(writer)
    return path


def add_vocabulary(writer: GGUFWriter) -> None:
    """256 bytes, nine merges, and the marks of the chatml template."""
    kinds = [TokenType.CONTROL] * len(MARKS) + [TokenType.NORMAL] * (len(TOKENS) - len(MARKS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(TOKENS)
    writer.add_token_types(kinds)
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)


def _add_matrix(writer: GGUFWriter, name: str, raw: U8, kind: Q) -> None:
    if kind == Q.F32:
        writer.add_tensor(name, raw.view(np.float32))
    elif kind == Q.F16:
        writer.add_tensor(name, raw.view(np.float16))
    else:
        writer.add_tensor(name, raw, raw_dtype=kind)


def _finish(writer: GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _seed(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
