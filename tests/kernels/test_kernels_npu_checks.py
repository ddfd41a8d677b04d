# SPDX-License-Identifier: Apache-2.0
"""What the virtual board's checks find in the engine's use of the NPU: nothing, and every mistake made on purpose."""

from __future__ import annotations

import contextlib
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
from maxconsole.session.route import Route
from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup, prepare

pytestmark = pytest.mark.system

SHAPE = {"arch": "qwen2", "matrix": Q.Q4_0, "hidden": 288, "ffn": 224, "heads": 9, "kv_heads": 3, "layers": 3}
#: With biases. Rows of each half that are enough for attention by tokens.
PROMPT = 140

Findings = Callable[..., tuple[str, ...]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, kept_cache: Path) -> Prepared:
    folder = tmp_path_factory.mktemp("npu-checks")
    model = write_gentle_model(folder / "tiny.gguf", **SHAPE)  # type: ignore[arg-type]
    return prepare(Setup("aimax395-virtual", str(model), context=256, batch=PROMPT))


@pytest.fixture
def findings(prepared: Prepared, tmp_path: Path) -> Findings:
    """Runs a prompt on a board that checks, with one change to a file of the firmware."""

    def run(name: str = "", change: Callable[[str], str] | None = None, *, f16: bool = False) -> tuple[str, ...]:
        used = prepared if change is None else changed(prepared, tmp_path, name, change)
        weights = (used.plan.weight.base, used.image.data)
        machine = EmulatedMachine(Load(used.board, used.firmware.elf, (weights,), check_races=True), silent)
        tokens = np.random.default_rng(0).integers(3, len(TOKENS), PROMPT).tolist()
        with contextlib.ExitStack() as stack:
            stack.callback(machine.close)
            with contextlib.suppress(BoardError) if change else contextlib.nullcontext():  # it may fail as it likes
                session = Session(used, machine)
                stack.callback(session.close)
                session.use_cores(4)
                session.use(Route(npu="linear", npu_f16=f16))
                for count in (PROMPT, 20):
                    session.reset()
                    list(session.ask(tokens[:count], GREEDY, 2, stops=False))
            return machine.races()

    return run


@pytest.mark.parametrize("f16", [False, True])
def test_nothing_is_found_in_the_firmware(findings: Findings, f16: bool) -> None:
    assert findings(f16=f16) == ()


_MEET = re.compile(r"^ +meet\(p\);$", re.MULTILINE)
BARRIERS = len(_MEET.findall((paths.firmware_dir() / "engine/offload.c").read_text()))


@pytest.mark.parametrize("number", range(BARRIERS))
def test_a_missing_barrier_is_found(findings: Findings, number: int) -> None:
    def change(text: str) -> str:
        place = list(_MEET.finditer(text))[number]
        return text[: place.start()] + "    (void)p;" + text[place.end() :]

    assert findings("engine/offload.c", change)


@pytest.mark.parametrize(
    "part",
    [
        "    cache_clean(x.values, rows * x.k);\n",
        "    cache_clean(x.groups, rows * x.k / GROUP * sizeof *x.groups);\n",
        "    cache_clean(x.row_scales, rows * sizeof *x.row_scales);\n",
        "    cache_invalidate(from, product_bytes(halves, count));\n",
    ],
)
def test_a_missing_clean_or_invalidation_is_found(findings: Findings, part: str) -> None:
    assert findings("engine/offload.c", without(part))


def test_floats_of_gate_left_dirty_are_found(findings: Findings) -> None:
    part = "            cache_invalidate(gate, (size_t)count * ffn * sizeof *gate);\n"
    assert findings("engine/offload.c", without(part, "            {}\n"))


def test_a_missing_wait_is_found(findings: Findings) -> None:
    def change(text: str) -> str:
        changed, count = re.subn(r"npu_wait\(pending->jobs\[pending->count - 1\]\.sequence\)", "NPU_CODE_DONE", text)
        assert count == 1
        return changed

    assert findings("engine/offload_job.c", change)
