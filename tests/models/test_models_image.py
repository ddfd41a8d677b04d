# SPDX-License-Identifier: Apache-2.0
"""Whole images: what is in them, which models are refused, and how the cache behaves."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import gguf_files
import numpy as np
import pytest
from gguf.constants import GGMLQuantizationType as Q
from gguf.quants import dequantize

from maxconsole.errors import UserError
from maxconsole.models.cache import content_digest, weight_image
from maxconsole.models.image import DamagedImageError, read_image
from maxconsole.models.layout import lay_out
from maxconsole.models.model import Model
from maxconsole.models.reader import open_gguf
from maxconsole.models.unpack import unpack_tensor
from maxconsole.schema.image import IMAGE_MAGIC, IMAGE_VERSION, ImageHeader, TensorFormat, TensorRole


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "images"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return gguf_files.write_model(tmp_path / "tiny.gguf")


def test_the_header_says_what_the_model_is(tiny: Path) -> None:
    image = weight_image(open_gguf(tiny))
    header = image.header
    assert (header.magic, header.version) == (IMAGE_MAGIC, IMAGE_VERSION)
    assert (header.layers, header.hidden, header.ffn) == (2, 64, 96)
    assert (header.heads, header.kv_heads, header.head_dim, header.rope_pairs) == (4, 2, 16, 8)
    assert (header.vocabulary, header.context_train) == (len(gguf_files.TOKENS), 512)
    assert header.rms_epsilon == np.float32(1e-5)
    assert header.eos[: header.eos_count] == (2, 0)
    assert header.name == "tiny test model"
    assert header.total_bytes == image.path.stat().st_size == Model.open(tiny).facts.image_bytes
    data = image.path.read_bytes()
    assert zlib.crc32(data[header.header_bytes :]) == header.payload_crc
    blank = data[:24] + bytes(4) + data[28 : header.header_bytes]
    assert zlib.crc32(blank) == header.header_crc
    assert ImageHeader.unpack(data[: ImageHeader.SIZE]) == header


def test_rotary_steps_are_turns_per_position(tiny: Path, tmp_path: Path) -> None:
    steps = weight_image(open_gguf(tiny)).header.rope_step
    assert steps[0] == round(2**32 / (2 * np.pi))
    assert steps[4] == round(2**32 * 10000 ** (-8 / 16) / (2 * np.pi))
    assert not any(steps[8:])
    divisors = np.array([1, 1, 2, 4, 8, 8, 8, 8], np.float32)
    scaled = gguf_files.write_model(tmp_path / "scaled.gguf", rope_factors=divisors)
    divided = weight_image(open_gguf(scaled)).header.rope_step
    assert divided[:2] == steps[:2]
    assert abs(divided[3] - steps[3] / 4) <= 1


def test_tensors_are_aligned_and_in_the_order_that_the_engine_reads(tiny: Path) -> None:
    image = weight_image(open_gguf(tiny))
    roles = [(TensorRole(entry.role).name.lower(), entry.layer) for entry in image.entries]
    names = ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down"]
    layers = [(name, layer) for layer in range(2) for name in names]
    smoothing = ["attn_smoothing", "attn_output_smoothing", "ffn_smoothing", "ffn_down_smoothing"]
    calibrated = [(name, layer) for layer in range(2) for name in smoothing]
    assert roles == [("token_embedding", 0), *layers, ("output_norm", 0), *calibrated]
    end = image.header.header_bytes
    for entry in image.entries:
        assert entry.offset == end
        assert entry.offset % 64 == entry.bytes % 64 == 0
        end += entry.bytes
    assert end == image.header.total_bytes


def test_an_untied_head_is_a_tensor_of_its_own(tmp_path: Path) -> None:
    file = open_gguf(gguf_files.write_model(tmp_path / "untied.gguf", tied=False))
    assert not lay_out(file).tied_head
    image = weight_image(file)
    [head] = (entry for entry in image.entries if entry.role == TensorRole.OUTPUT)
    assert head.rows == len(gguf_files.TOKENS)


def test_norms_are_exact(tiny: Path) -> None:
    file = open_gguf(tiny)
    image = weight_image(file)
    entry = next(entry for entry in image.entries if entry.role == TensorRole.FFN_NORM)
    assert entry.format == TensorFormat.F32
    expected = file.raw(file.tensors["blk.0.ffn_norm.weight"]).reshape(-1).view("<f4")
    assert (unpack_tensor(entry, image.tensor(entry)) == expected).all()


@pytest.mark.parametrize("kind", [Q.Q4_K, Q.Q5_K, Q.Q6_K, Q.F16, Q.BF16], ids=lambda kind: kind.name)
def test_models_of_other_types_pack_as_a_whole(tmp_path: Path, kind: Q) -> None:
    path = gguf_files.write_model(tmp_path / "m.gguf", matrix=kind, hidden=256, ffn=512, layers=1)
    image = weight_image(open_gguf(path))
    expected = kind.name if kind.name.endswith("_K") else "Q8_0"
    assert {TensorFormat(entry.format).name for entry in image.entries} == {"F32", "SMOOTHING", expected}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arch": "mamba"}, "the architecture 'mamba' is not supported"),
        ({"arch": "qwen3"}, "the architecture 'qwen3' is not supported"),
        ({"leave_out": ("blk.1.ffn_up.weight",)}, "the tensor blk.1.ffn_up.weight is missing"),
        ({"heads": 4, "kv_heads": 3}, "4 heads cannot share 3"),
        ({"hidden": 48, "heads": 3, "kv_heads": 3, "matrix": Q.F32}, "the hidden size 48 is not a multiple of 32"),
        ({"change": lambda w: w.add_uint32("llama.expert_count", 8)}, "mixtures of experts"),
        ({"change": lambda w: w.add_string("llama.rope.scaling.type", "yarn")}, "scaled by 'yarn'"),
        ({"change": lambda w: w.add_uint32("llama.rope.dimension_count", 8)}, "a part of each head"),
        (
            {"change": lambda w: w.add_tensor("extra.weight", np.zeros(4, np.float32))},
            "extra.weight belongs to no llama",
        ),
        ({"rope_factors": np.zeros(8, np.float32)}, "must be positive"),
        ({"rope_factors": np.ones(4, np.float32)}, "rope_freqs.weight must be 8 values"),
        (
            {"replace": {"blk.0.ffn_up.weight": (gguf_files.random_rows(Q.Q8_0, 64, 64), Q.Q8_0)}},
            "blk.0.ffn_up.weight is 64 x 64, and the metadata makes it 96 x 64",
        ),
        (
            {"hidden": 256, "replace": {"blk.0.attn_q.weight": (np.zeros((256, 84), np.uint8), Q.Q2_K)}},
            "blk.0.attn_q.weight has the type Q2_K",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_that_cannot_run_are_refused_by_name(tmp_path: Path, options: dict[str, object], message: str) -> None:
    path = gguf_files.write_model(tmp_path / "bad.gguf", **options)  # type: ignore[arg-type]
    with pytest.raises(UserError) as caught:
        Model.open(path)
    assert message in caught.value.what
    assert str(path) in caught.value.what


def test_packing_reports_progress_and_happens_once(tiny: Path, cache: Path) -> None:
    seen: list[tuple[int, int]] = []
    file = open_gguf(tiny)
    first = weight_image(file, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] >= first.header.total_bytes
    seen.clear()
    again = weight_image(open_gguf(tiny), progress=lambda done, total: seen.append((done, total)))
    assert not seen
    assert again.path == first.path
    assert [path.name for path in cache.iterdir()] == [first.path.name]


def test_packing_a_file_again_gives_the_same_bytes(tiny: Path) -> None:
    first = weight_image(open_gguf(tiny))
    data = bytes(first.data)
    first.path.unlink()
    assert bytes(weight_image(open_gguf(tiny)).data) == data


def test_the_image_belongs_to_the_content_not_to_the_name(tiny: Path, tmp_path: Path) -> None:
    digest = content_digest(tiny)
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(tiny.read_bytes())
    assert content_digest(copy) == digest
    data = bytearray(copy.read_bytes())
    data[-1] ^= 1
    stamp = copy.stat()
    copy.write_bytes(data)
    os.utime(copy, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert content_digest(copy) != digest


@pytest.mark.parametrize("damage", ["weights", "header", "table", "truncated", "empty", "foreign"])
def test_a_damaged_image_is_noticed_and_packed_again(tiny: Path, damage: str) -> None:
    image = weight_image(open_gguf(tiny))
    good = image.path.read_bytes()
    bad = bytearray(good)
    if damage in ("weights", "header", "table"):
        bad[{"weights": -100, "header": 40, "table": ImageHeader.SIZE + 9}[damage]] ^= 4
    image.path.write_bytes({"truncated": good[:-64], "empty": b"", "foreign": b"#!/bin/sh\n"}.get(damage, bytes(bad)))
    with pytest.raises(DamagedImageError):
        read_image(image.path)
    assert weight_image(open_gguf(tiny)).path.read_bytes() == good


class StopError(Exception):
    pass


def test_cancelling_leaves_nothing_behind(tiny: Path, cache: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise StopError

    with pytest.raises(StopError):
        weight_image(open_gguf(tiny), progress=stop)
    assert list(cache.iterdir()) == []


def test_leftovers_of_a_killed_process_are_swept(tiny: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    leftover = cache / "tmpabc.partial"
    leftover.write_bytes(b"x")
    os.utime(leftover, (1, 1))
    weight_image(open_gguf(tiny))
    assert not leftover.exists()


def test_a_cache_that_cannot_be_written_is_the_users_to_mend(tiny: Path, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("a file where the folder belongs")
    with pytest.raises(UserError, match="cannot create the cache folder"):
        weight_image(open_gguf(tiny))


def test_the_demo_model_packs_into_about_the_size_of_its_file(demo_file: Path) -> None:
    model = Model.open(demo_file)
    image = model.image()
    assert image.header.total_bytes < 1.01 * demo_file.stat().st_size
    assert (image.header.hidden, image.header.layers, image.header.heads, image.header.kv_heads) == (576, 30, 9, 3)
    assert image.header.eos[: image.header.eos_count] == (2, 0)
    entry = next(entry for entry in image.entries if entry.role == TensorRole.FFN_DOWN and entry.layer == 17)
    info = model.file.tensors["blk.17.ffn_down.weight"]
    expected = dequantize(model.file.raw(info), info.type)
    error = np.sqrt(np.square(unpack_tensor(entry, image.tensor(entry)) - expected).sum() / np.square(expected).sum())
    assert error < 0.0005
