# SPDX-License-Identifier: Apache-2.0
"""The float32 oracle against a transformer written out token by token in double, and the measure of accuracy."""

from __future__ import annotations

import math
from pathlib import Path

import gguf_files
import numpy as np
import numpy.typing as npt
import pytest
from gguf import GGUFReader
from gguf.constants import GGMLQuantizationType as Q
from gguf.quants import dequantize

from maxconsole.models.accuracy import Comparison
from maxconsole.models.model import Model
from maxconsole.models.oracle import teacher_forced_logits
from maxconsole.models.oracle_weights import FileWeights, ImageWeights, Weights

F64 = npt.NDArray[np.float64]
TOKENS = np.random.default_rng(5).integers(3, len(gguf_files.TOKENS), 40).tolist()


def spelled_out(path: Path, tokens: list[int], context: int | None = None) -> F64:
    """Logits of the tiny model, one token after the other, in double, rotary pairs as the file has them."""
    qwen2 = GGUFReader(path).fields["general.architecture"].contents() == "qwen2"
    weights = {
        tensor.name: np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float64)
        for tensor in GGUFReader(path).tensors
    }
    heads, kv_heads, dim = 4, 2, 16

    def norm(x: F64, name: str) -> F64:
        return x / math.sqrt(float(np.mean(x * x)) + float(np.float32(1e-5))) * weights[name].reshape(-1)

    def turn(head: F64, position: int) -> F64:
        turned = np.empty(dim)
        for pair in range(dim // 2):
            first, second = (pair, dim // 2 + pair) if qwen2 else (2 * pair, 2 * pair + 1)
            angle = position * 10000.0 ** (-2 * pair / dim)
            a, b = head[first], head[second]
            turned[first] = a * math.cos(angle) - b * math.sin(angle)
            turned[second] = a * math.sin(angle) + b * math.cos(angle)
        return turned

    cache: dict[tuple[int, int], list[tuple[F64, F64]]] = {}
    rows = []
    for position, token in enumerate(tokens):
        x = weights["token_embd.weight"][token]
        for layer in range(2):
            block = f"blk.{layer}."
            h = norm(x, block + "attn_norm.weight")
            q, k, v = (
                (weights[f"{block}attn_{name}.weight"] @ h + weights.get(f"{block}attn_{name}.bias", 0)).reshape(
                    -1, dim
                )
                for name in "qkv"
            )
            out = []
            for kv in range(kv_heads):
                cache.setdefault((layer, kv), []).append((turn(k[kv], position), v[kv]))
            for head in range(heads):
                total, mixed = 0.0, np.zeros(dim)
                for key, (rotated, value) in enumerate(cache[layer, head // 2]):
                    if context is not None and key >= 4 and key <= position - (context - 4):
                        continue
                    at = position if context is None or key >= 4 else min(position, context - 1)
                    weight = math.exp(float(turn(q[head], at) @ rotated) / math.sqrt(dim))
                    total += weight
                    mixed += weight * value
                out.append(mixed / total)
            x = x + weights[block + "attn_output.weight"] @ np.concatenate(out)
            h = norm(x, block + "ffn_norm.weight")
            gate, up = weights[block + "ffn_gate.weight"] @ h, weights[block + "ffn_up.weight"] @ h
            x = x + weights[block + "ffn_down.weight"] @ (gate / (1 + np.exp(-gate)) * up)
        head_name = "output.weight" if "output.weight" in weights else "token_embd.weight"
        rows.append(weights[head_name] @ norm(x, "output_norm.weight"))
    return np.array(rows)


def logits(weights: Weights, tokens: list[int], context: int | None = None) -> npt.NDArray[np.float32]:
    return np.concatenate([block.logits for block in teacher_forced_logits(weights, [tokens], context)])


@pytest.mark.parametrize("context", [None, 12], ids=["all tokens", "ring of 12"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_logits_are_those_of_a_transformer_written_out(
    tmp_path: Path, family: str, tied: bool, context: int | None
) -> None:
    path = gguf_files.write_model(tmp_path / "m.gguf", matrix=Q.F32, tied=tied, arch=family)
    model = Model.open(path)
    expected = spelled_out(path, TOKENS, context)
    got = logits(FileWeights(model.file, model.layout), TOKENS, context)
    assert np.abs(got - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("family", ["llama", "qwen2"])
@pytest.mark.parametrize("kind", [Q.Q4_1, Q.Q5_0, Q.Q8_0], ids=lambda kind: kind.name)
def test_the_image_gives_the_files_logits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Q, family: str
) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path))
    model = Model.open(gguf_files.write_model(tmp_path / "m.gguf", matrix=kind, arch=family))
    reference = logits(FileWeights(model.file, model.layout), TOKENS)
    packed = logits(ImageWeights(model.image(), model.layout), TOKENS)
    comparison = Comparison()
    comparison.add(reference, packed)
    assert comparison.result().mean_kl < 1e-5


def test_sequences_do_not_see_each_other_and_come_in_order(tmp_path: Path) -> None:
    model = Model.open(gguf_files.write_model(tmp_path / "m.gguf"))
    weights = FileWeights(model.file, model.layout)
    long = TOKENS * 8
    blocks = list(teacher_forced_logits(weights, [TOKENS[:7], long]))
    assert [(block.sequence, block.start, len(block.logits)) for block in blocks] == [
        (0, 0, 7),
        (1, 0, 256),
        (1, 256, 64),
    ]
    assert np.allclose(blocks[0].logits, logits(weights, TOKENS)[:7], atol=1e-5)


def test_divergence_is_that_of_the_definition() -> None:
    comparison = Comparison()
    comparison.add(np.log([[0.5, 0.25, 0.25], [0.9, 0.05, 0.05]]).astype("f4"), np.zeros((2, 3), np.float32))
    result = comparison.result()
    first = 0.5 * math.log(0.5 * 3) + 2 * 0.25 * math.log(0.25 * 3)
    second = 0.9 * math.log(0.9 * 3) + 2 * 0.05 * math.log(0.05 * 3)
    assert result.mean_kl == pytest.approx((first + second) / 2, rel=1e-5)
    assert result.positions == 2
    assert result.top1 == 1


def test_agreement_counts_positions_and_how_close_the_misses_were() -> None:
    reference = np.array([[1, 2, 0], [3, 0, 0], [0, 0, 5]], np.float32)
    candidate = np.array([[2, 1, 0], [3, 0, 0], [0, 0, 5]], np.float32) + 7
    comparison = Comparison()
    comparison.add(reference[:1], candidate[:1])
    comparison.add(reference[1:], candidate[1:])
    result = comparison.result()
    assert result.top1 == pytest.approx(2 / 3)
    assert result.margin_of_misses == pytest.approx(1)


def test_logits_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="not all numbers"):
        Comparison().add(np.zeros((1, 2), np.float32), np.array([[np.nan, 0]], np.float32))
    with pytest.raises(ValueError, match="cannot be compared"):
        Comparison().add(np.zeros((1, 2), np.float32), np.zeros((2, 2), np.float32))
