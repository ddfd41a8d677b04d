# SPDX-License-Identifier: Apache-2.0
"""The kernel test image on the virtual board: every kernel equals its reference, and faults in kernels are found."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from maxconsole import paths
from maxconsole.session.checkasm import CheckasmResult, run_checkasm

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("kept_cache")]

BOARD = "aimax395-virtual"

#: file, what is replaced, by what, the check that must fail, and its words
FAULTS = [
    ("kernels/gemm_tile.S", "        ldp     d10, d11, [sp, #16]\n", "", "gemm_scale", r"did not preserve d1[01]"),
    (
        "kernels/gemv_legacy.S",
        "dot_bytes \\xh",
        "dot_bytes \\xl",
        "gemv_q8_0",
        r"y\[\d+\] has the bits \w+, expected \w+",
    ),
    (
        "kernels/dequant.c",
        "vst1q_u8(bytes + 64",
        "vst1q_u8(bytes + 80",
        "dequantize_q4_0",
        r"wrote \d+ bytes past buffer \d+ .*",
    ),
    (
        "kernels/elementwise.S",
        "four    \\x0, \\x1, \\x2, \\x3, 4, 5, 6, 7",
        "four    \\x0, \\x1, \\x2, \\x3, 4, 5, 6, 6",
        "rms_norm_rows",
        r"out\[\d+\] has the bits \w+, expected \w+",
    ),
    (
        "kernels/requantize_minimum.S",
        "code_half x2, 1, v15",
        "code_half x2, 0, v15",
        "requantize_q4_1",
        r"weights\[\d+\] is \w+, expected \w+",
    ),
    (
        "kernels/attention_block.c",
        "bits_below(t->to[row], start)",
        "bits_below(t->to[row] + 1, start)",
        "attention_64",
        r"out\[.*",
    ),
    (
        "kernels/kv_cache.c",
        "q[count + i], head_dim);",
        "q[i], head_dim);",
        "kv_cache_update_64",
        r"ring\[\d+\] is \w+, expected \w+",
    ),
]


@pytest.mark.parametrize("seed", [None, 1, 2**64 - 1])
def test_every_kernel_equals_its_reference(seed: int | None) -> None:
    result = run_checkasm(BOARD, seed=seed, timing="off")
    assert [f"{check.name}: {check.detail}" for check in result.failed] == []
    assert len(result.checks) > 50


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> CheckasmResult:
    """Verdicts about firmware with all the faults."""
    root = tmp_path_factory.mktemp("faulty") / "firmware"
    shutil.copytree(paths.firmware_dir(), root)
    for name, old, new, _, _ in FAULTS:
        file = root / name
        text = file.read_text()
        assert old in text, f"{name} has changed: choose another fault"
        file.write_text(text.replace(old, new))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "firmware_dir", lambda: Path(root))
        return run_checkasm(BOARD, timing="off")


@pytest.mark.parametrize(("check", "words"), [fault[3:] for fault in FAULTS])
def test_a_fault_is_found_and_described(faulty: CheckasmResult, check: str, words: str) -> None:
    (verdict,) = [each for each in faulty.checks if each.name == check]
    assert not verdict.passed
    assert re.fullmatch(words, verdict.detail), verdict.detail


def test_kernels_without_a_fault_still_pass(faulty: CheckasmResult) -> None:
    passed = {check.name for check in faulty.checks if check.passed}
    assert {"swiglu_rows", "quantize_rows", "gemv_q4_1", "gemv_q6_k", "rope_row"} <= passed
