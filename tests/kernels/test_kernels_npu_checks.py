# SPDX-License-Identifier: Apache-2.0
"""What the virtual board's checks find in the engine's use of the NPU: nothing, and every mistake made on purpose."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from firmware_changes import changed, without
from gentle_models import write_gentle_model
from gguf.constants import GGMLQuantizationType as Q
from gguf_files import TOKENS

from maxconsole import paths
from maxconsole.errors import BoardError
from maxconsole.session.emulated import EmulatedMachine
from maxconsole.session.machine import Load
from maxconsole.session.progress import silent
from maxconsole.session.route import NpuMode, Route
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare

pytestmark = pytest.mark.system

SHAPE = {"matrix": Q.Q4_0, "hidden": 288, "ffn": 224, "heads": 9, "kv_heads": 3, "layers": 3}
#: Rows of each half are enough for attention by tokens.
PROMPT = 140

Findings = Callable[..., tuple[str, ...]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, kept_cache: Path) -> Callable[[str], Prepared]:
    """By architecture: qwen2 has biases, without which fp16 keys and values go to the ring as they are."""

    @functools.cache
    def prepare_model(arch: str) -> Prepared:
        folder = tmp_path_factory.mktemp("npu-checks")
        model = write_gentle_model(folder / "tiny.gguf", arch=arch, **SHAPE)  # type: ignore[arg-type]
        return prepare(Setup("aimax395-virtual", str(model), context=256, batch=PROMPT))

    return prepare_model


@pytest.fixture
def findings(prepared: Callable[[str], Prepared], tmp_path: Path) -> Findings:
    """Runs a prompt on a board that checks, with one change to a file of the firmware."""

    def run(
        name: str = "",
        change: Callable[[str], str] | None = None,
        *,
        arch: str = "qwen2",
        f16: bool = False,
        mode: NpuMode = "linear",
    ) -> tuple[str, ...]:
        used = prepared(arch)
        if change is not None:
            used = changed(used, tmp_path, name, change)
        weights = (used.plan.weight.base, used.image.data)
        machine = EmulatedMachine(Load(used.board, used.firmware.elf, (weights,), check_races=True), silent)
        tokens = np.random.default_rng(0).integers(3, len(TOKENS), PROMPT).tolist()
        with contextlib.ExitStack() as stack:
            stack.callback(machine.close)
            with contextlib.suppress(BoardError) if change else contextlib.nullcontext():  # it may fail as it likes
                session = Session(used, machine)
                stack.callback(session.close)
                session.use_cores(4)
                session.use(Route(npu=mode, npu_f16=f16))
                for count in (PROMPT, 20):
                    session.reset()
                    list(session.ask(tokens[:count], GREEDY, 2, stops=False))
            return machine.races()

    return run


@pytest.mark.parametrize("arch", ["llama", "qwen2"])
@pytest.mark.parametrize(("mode", "f16"), [("linear", False), ("linear", True), ("pv", False), ("all", True)])
def test_nothing_is_found_in_the_firmware(findings: Findings, mode: NpuMode, f16: bool, arch: str) -> None:
    assert findings(f16=f16, mode=mode, arch=arch) == ()


FILES = [f"engine/offload{part}.c" for part in ("", "_ffn", "_attend", "_attention")]
_MEET = re.compile(r"^ +meet\(&?p\);", re.MULTILINE)


def _barriers(name: str) -> list[tuple[str, int]]:
    return [(name, number) for number in range(len(_MEET.findall((paths.firmware_dir() / name).read_text())))]


@pytest.mark.parametrize(("name", "number"), [place for name in FILES for place in _barriers(name)])
def test_a_missing_barrier_is_found(findings: Findings, name: str, number: int) -> None:
    def change(text: str) -> str:
        place = list(_MEET.finditer(text))[number]
        return text[: place.start()] + "    (void)p;" + text[place.end() :]

    assert findings(name, change, mode="all" if "attention" in name else "linear", f16="attend.c" in name)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("rows", "    cache_begin_clean(x.values, count * x.k);\n"),
        ("rows", "    cache_begin_clean(x.groups, count * x.k / GROUP * sizeof *x.groups);\n"),
        ("rows", "    cache_begin_clean(x.row_scales, count * sizeof *x.row_scales);\n"),
        ("attention", "    cache_clean(pages, (size_t)stage->blocks * in_block * sizeof *pages);\n"),
    ],
)
def test_a_missing_clean_is_found(findings: Findings, name: str, part: str) -> None:
    assert findings(f"engine/offload_{name}.c", without(part), mode="all")


def test_probabilities_left_dirty_are_found(findings: Findings) -> None:
    part = "    cache_begin_clean(asked, (keys.to - keys.from) * key);\n"
    assert findings("kernels/attention_stage.c", without(part), mode="pv")


def test_pages_left_in_caches_are_found(findings: Findings) -> None:
    part = "                cache_begin_clean("
    assert findings("engine/offload_attention.c", without(part, "                (void)("), mode="pv")


def test_results_left_in_caches_are_found(findings: Findings) -> None:
    part = "    cache_invalidate(taking->output->rows + mine.from * row, (mine.to - mine.from) * row);\n"
    assert findings("engine/offload_rows.c", without(part, "    (void)row;\n"))


def test_keys_and_values_left_in_caches_are_found(findings: Findings) -> None:
    part = "        offload_forget(&taking, row, is_mine ? 0 : query, products.output->width);\n"
    assert findings(
        "engine/offload_attend.c",
        without(part, "        (void)is_mine, (void)query, (void)taking;\n"),
        arch="llama",
        f16=True,
    )


def test_sums_left_in_caches_are_found(findings: Findings) -> None:
    part = "            cache_begin_invalidate(memory->sums + row * width, width * sizeof *memory->sums);\n"
    assert findings("engine/offload_attention.c", without(part, "            {}\n"), mode="pv")


@pytest.mark.parametrize("mode", ["linear", "pv"])
def test_a_missing_wait_is_found(findings: Findings, mode: NpuMode) -> None:
    part = "npu_wait(job->sequence);\n    span_end"
    assert findings("engine/offload_job.c", without(part, "NPU_CODE_DONE;\n    span_end"), mode=mode)
