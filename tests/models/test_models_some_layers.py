# SPDX-License-Identifier: Apache-2.0
"""Files with some of a model's layers, and what a whole file's run follows from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader
from gguf.constants import GGMLQuantizationType as Q
from gguf_files import random_rows, write_model

from maxconsole.validation import llama_layers
from maxconsole.validation.llama_build import REPACKED
from maxconsole.validation.llama_layers import SomeLayers, layer_kinds, whole_file
from maxconsole.validation.llama_runs import Job
from maxconsole.validation.store import Figures, Store


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four layers, of which the third has a value projection in another format."""
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path / "cache"))
    other = (random_rows(Q.Q4_0, 32, 64), Q.Q4_0)
    return write_model(tmp_path / "m.gguf", layers=4, replace={"blk.2.attn_v.weight": other})


def test_layers_are_told_apart_by_their_formats(model: Path) -> None:
    assert layer_kinds(model) == ((0, 1, 3), (2,))


def test_a_file_with_some_layers_has_their_weights_and_everything_else(model: Path) -> None:
    whole, some = GGUFReader(model), GGUFReader(SomeLayers(model, (1, 2)).file())
    assert some.fields["llama.block_count"].contents() == 2
    for name in ("llama.embedding_length", "tokenizer.ggml.tokens", "tokenizer.chat_template"):
        assert some.fields[name].contents() == whole.fields[name].contents()
    source = {tensor.name: tensor for tensor in whole.tensors}
    names = {"token_embd.weight", "output_norm.weight"}
    names |= {name.replace("blk.0.", f"blk.{n}.") for name in source if name.startswith("blk.0.") for n in (0, 1)}
    assert {tensor.name for tensor in some.tensors} == names
    for tensor in some.tensors:
        original = source[tensor.name.replace("blk.1.", "blk.2.").replace("blk.0.", "blk.1.")]
        assert tensor.tensor_type == original.tensor_type
        np.testing.assert_array_equal(tensor.data, original.data)


@dataclass
class Bench:
    """A store in a folder."""

    store: Store
    quick: bool = False
    notes: list[str] = field(default_factory=list)

    def note(self, text: str, /) -> None:
        self.notes.append(text)


def test_a_whole_run_follows_from_one_more_layer_of_each_kind(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = {0: 10.0, 1: 10.0, 2: 7.0, 3: 10.0}
    runs = []

    def measured(_bench: Bench, job: Job[SomeLayers]) -> Figures:
        runs.append(job.model.kept)
        return {"cycles": 100.0 + sum(cost[layer] for layer in job.model.kept)}

    monkeypatch.setattr(llama_layers, "measure", measured)
    job = Job(REPACKED, SomeLayers(model, ()), 1, prompt=8)
    assert whole_file(Bench(Store(tmp_path, "")), job) == {"cycles": 100.0 + sum(cost.values())}
    assert runs == [(0, 2), (0, 1, 2)]


def test_options_of_a_run_are_in_its_name_and_its_arguments(model: Path) -> None:
    plain = Job(REPACKED, SomeLayers(model, (0,)), 1, prompt=8)
    assert plain.arguments == ("1", "8", "0")
    chosen = Job(REPACKED, SomeLayers(model, (0,)), 2, prompt=8, flash=False)
    assert chosen.arguments == ("2", "8", "0", "512", "0")
    assert Job(REPACKED, SomeLayers(model, (0,)), 2, generated=3, ubatch=64).arguments == ("2", "0", "3", "64")
    assert plain.name != chosen.name
