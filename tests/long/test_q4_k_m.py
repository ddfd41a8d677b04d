# SPDX-License-Identifier: Apache-2.0
"""The demo model as llama.cpp requantizes it to Q4_K_M (Q5_0, Q4_K, Q8_0 and Q6_K tensors in one file)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def q4_k_m(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from maxconsole.paths import cache_dir  # noqa: PLC0415 - the cache is the user's, as for the demo model

    path = cache_dir("models") / "SmolLM2-135M-Instruct.requantized.Q4_K_M.gguf"
    subprocess.run([_ROOT / "scripts" / "requantize-demo", "Q4_K_M", path], check=True)
    return path


def _answer(model: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "maxconsole", "ask", "--model", str(model), "--greedy", "--json", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    text = json.loads(done.stdout)["answer"]["text"]
    assert isinstance(text, str)
    return text


def test_the_file_holds_the_tensor_types_that_such_files_hold(q4_k_m: Path) -> None:
    command = [sys.executable, "-m", "maxconsole", "model", "info", str(q4_k_m), "--json"]
    facts = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert facts["tensor_types"] == {"Q5_0": 166, "Q4_K": 16, "Q8_0": 15, "Q6_K": 14, "F32": 61}


def test_the_capital_of_japan_is_tokyo(q4_k_m: Path) -> None:
    assert "Tokyo" in _answer(q4_k_m, "What is the capital of Japan?")


def test_with_an_empty_system_prompt_the_capital_of_france_is_paris(q4_k_m: Path) -> None:
    assert "Paris" in _answer(q4_k_m, "--system", "", "What is the capital of France?")
