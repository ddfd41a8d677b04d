# SPDX-License-Identifier: Apache-2.0
"""What opening a model file accepts and how it refuses the rest."""

from __future__ import annotations

import contextlib
import struct
import tracemalloc
from pathlib import Path

import gguf_files
import numpy as np
import pytest
from gguf import GGUFReader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxconsole.errors import UserError
from maxconsole.models.layout import lay_out
from maxconsole.models.reader import open_gguf
from maxconsole.models.tokenizer import build_tokenizer

HEADER = b"GGUF" + struct.pack("<IQQ", 3, 0, 0)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gguf_files.write_model(tmp_path_factory.mktemp("reader") / "tiny.gguf")


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        open_gguf(path)
    assert str(path) in caught.value.what
    return caught.value.what


def written(folder: Path, data: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return path


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def with_keys(count: int, body: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, count) + body


def with_tensor(name: str, shape: list[int], kind: int, offset: int, data: bytes = b"") -> bytes:
    entry = text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + entry
    return head + bytes(-len(head) % 32) + data


def test_reads_the_same_directory_as_the_package_gguf(tiny: Path) -> None:
    ours, theirs = open_gguf(tiny), GGUFReader(tiny)
    assert list(ours.tensors) == [tensor.name for tensor in theirs.tensors]
    for tensor in theirs.tensors:
        info = ours.tensors[tensor.name]
        assert (info.type, info.shape, info.bytes) == (
            tensor.tensor_type,
            tuple(tensor.shape.tolist()[::-1]),
            tensor.n_bytes,
        )
        assert ours.raw(info).tobytes() == tensor.data.tobytes()
    for key, field in theirs.fields.items():
        if not key.startswith("GGUF."):
            mine = ours.metadata._values[key]
            assert (mine.tolist() if isinstance(mine, np.ndarray) else mine) == field.contents()


def test_refuses_what_is_no_file(tmp_path: Path) -> None:
    assert "there is no model file" in refusal(tmp_path / "absent.gguf")
    assert "is a folder" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"PK\3\4 some archive", "not a GGUF file"),
        (b"GG", "not a GGUF file"),
        (b"tjgg" + bytes(64), "older GGML format"),
        (b"FUGG" + bytes(64), "big-endian"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "GGUF version 1"),
        (b"GGUF", "the version needs 4 bytes"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "the number of tensors is 1152921504606846976"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40), "the number of metadata keys is"),
        (with_keys(1, struct.pack("<Q", 1 << 62) + bytes(8)), "the length of the name of metadata key 0 is"),
        (with_keys(1, text("k") + struct.pack("<IQ", 8, 1 << 50)), "the length of k is"),
        (with_keys(1, text("k") + struct.pack("<I", 77) + bytes(8)), "unknown value type 77"),
        (with_keys(1, text("k") + struct.pack("<IIQ", 9, 4, 1 << 61)), "the length of k is"),
        (with_keys(1, text("k") + struct.pack("<IIQ", 9, 8, 1 << 61)), "the length of k is"),
        (with_keys(1, text("k") + struct.pack("<IIQ", 9, 9, 1) + bytes(16)), "unsupported element type 9"),
        (with_keys(1, text("k") + struct.pack("<IIQQ", 9, 8, 1, 1 << 61)), "k[0] reaches past the end"),
        (with_keys(1, text("k") + struct.pack("<IQ", 8, 2) + b"\xff\xfe"), "k is not UTF-8 text"),
        (with_keys(1, text("k") + struct.pack("<IIQQ", 9, 8, 1, 1) + b"\xff"), "k[0] is not UTF-8 text"),
        (with_keys(2, (text("k") + struct.pack("<II", 4, 7)) * 2), "k occurs twice"),
        (with_keys(1, text("general.alignment") + struct.pack("<II", 4, 24)), "not a power of two"),
        (with_keys(1, text("general.alignment") + struct.pack("<II", 4, 0)), "general.alignment is 0"),
        (with_keys(1, text("split.count") + struct.pack("<IH", 2, 3)), "one of 3 parts"),
        (with_tensor("w", [], 0, 0), "w has 0 dimensions"),
        (with_tensor("w", [1] * 9, 0, 0), "w has 9 dimensions"),
        (with_tensor("w", [0, 4], 0, 0), "shape 4 x 0"),
        (with_tensor("w", [1 << 40, 1 << 40], 0, 0), "the shape"),
        (with_tensor("w", [32], 999, 0), "unknown type 999"),
        (with_tensor("w", [33, 2], 8, 0), "rows of 33"),
        (with_tensor("w", [32], 0, 16), "starts at 16"),
        (with_tensor("w", [32], 0, 0, bytes(127)), "ends at byte"),
        (with_tensor("w", [32], 0, (1 << 64) - 32, bytes(128)), "ends at byte"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_names_what_is_wrong_with_a_damaged_file(tmp_path: Path, data: bytes, message: str) -> None:
    assert message in refusal(written(tmp_path, data))


def test_absurd_sizes_are_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    data = with_keys(1, text("k") + struct.pack("<IIQ", 9, 4, (1 << 62) - 1)) + bytes(100)
    tracemalloc.start()
    refusal(written(tmp_path, data))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_an_empty_model_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"general\.architecture is missing"):
        lay_out(open_gguf(written(tmp_path, HEADER + bytes(16))))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_truncated_and_corrupted_files_never_cause_anything_but_a_user_error(
    tiny: Path, tmp_path: Path, data: st.DataObject
) -> None:
    whole = tiny.read_bytes()
    directory = open_gguf(tiny).tensors["token_embd.weight"].offset
    damaged = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 3))):
        if damaged:
            at = data.draw(st.integers(0, min(directory, len(damaged)) - 1))
            damaged[at] = data.draw(st.integers(0, 255))
    path = written(tmp_path, bytes(damaged))
    with contextlib.suppress(UserError):
        file = open_gguf(path)
        lay_out(file)
        build_tokenizer(file.metadata).encode("hello world")
