# SPDX-License-Identifier: Apache-2.0
"""The Python twins against the firmware's own C: sampling to the bit, and what a kernel finds in packed weights."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import NamedTuple

import firmware_host
import gguf_files
import numpy as np
import numpy.typing as npt
import pytest
from gguf.constants import GGMLQuantizationType as Q
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxconsole.models.formats import FORMATS
from maxconsole.models.image import read_image
from maxconsole.models.model import Model
from maxconsole.models.sampling import Sampler, log_sum_exp
from maxconsole.models.unpack import PackedWeights, unpack_panels
from maxconsole.schema.image import TensorFormat
from maxconsole.schema.wire import Generate

F32 = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return firmware_host.build(tmp_path_factory.mktemp("firmware"))


class Parameters(NamedTuple):
    temperature: float
    top_k: int
    top_p: float
    penalty: float
    seed: int


def started(firmware: ctypes.CDLL, parameters: Parameters) -> firmware_host.SamplerState:
    state = firmware_host.SamplerState()
    command = Generate(
        request=0,
        keep=0,
        prompt_tokens=1,
        max_new=1,
        flags=0,
        top_k=parameters.top_k,
        temperature=parameters.temperature,
        top_p=parameters.top_p,
        repeat_penalty=parameters.penalty,
        repeat_window=0,
        seed=parameters.seed,
        stop_count=0,
        stop=(),
    ).pack()
    assert firmware.sampler_init(ctypes.byref(state), command)
    return state


def sampled(
    firmware: ctypes.CDLL, state: firmware_host.SamplerState, logits: F32, repeated: list[int]
) -> tuple[int, int]:
    """Token, and the bits of its log-probability."""
    bitmap = np.zeros(-(-len(logits) // 32), np.uint32)
    for token in repeated:
        bitmap[token // 32] |= np.uint32(1 << token % 32)
    choice = firmware.sample(
        ctypes.byref(state),
        logits.ctypes.data_as(ctypes.c_void_p),
        len(logits),
        bitmap.ctypes.data_as(ctypes.c_void_p),
        True,
    )
    return choice.token, bits_of(choice.logprob)


def bits_of(value: float) -> int:
    return int(np.float32(value).view(np.uint32)) if not math.isnan(value) else -1


PLAIN = Parameters(0.8, 0, 0.95, 1.1, 42)
LOGITS = hnp.arrays(np.float32, st.integers(1, 70), elements=st.floats(-40, 40, width=32)).map(lambda x: x + 0)
# Adding 0 turns -0 into +0: the scalar reference, unlike the kernel, takes no care of a mixture of both.
ODD_LOGITS = hnp.arrays(np.float32, st.integers(1, 12), elements=st.floats(width=32)).map(lambda x: x + 0)


@settings(max_examples=80, deadline=None)
@given(
    logits=LOGITS | ODD_LOGITS,
    parameters=st.builds(
        Parameters,
        temperature=st.sampled_from([0.0, 1e-6, 0.3, 0.7, 1.0, 5.0]),
        top_k=st.sampled_from([0, 1, 2, 40, 5000]),
        top_p=st.sampled_from([1e-3, 0.5, 0.9, 1.0]),
        penalty=st.sampled_from([0.5, 1.0, 1.1, 3.0]),
        seed=st.integers(0, 2**64 - 1),
    ),
    data=st.data(),
)
def test_a_seed_gives_the_same_tokens_on_a_board_and_here(
    firmware: ctypes.CDLL, logits: F32, parameters: Parameters, data: st.DataObject
) -> None:
    repeated = data.draw(st.lists(st.integers(0, len(logits) - 1), max_size=4))
    state, twin = started(firmware, parameters), Sampler(*parameters)
    for _ in range(3):
        expected = sampled(firmware, state, logits, repeated)
        choice = twin.choose(logits, repeated)
        assert (choice.token, bits_of(choice.logprob)) == expected


def test_vocabularies_of_real_size_agree_too(firmware: ctypes.CDLL) -> None:
    random = np.random.default_rng(3)
    state, twin = started(firmware, PLAIN), Sampler(*PLAIN)
    tokens = set()
    for _ in range(16):
        logits = (random.normal(size=49152) * 3).astype(np.float32)
        repeated = random.integers(0, 49152, 64).tolist()
        choice = twin.choose(logits, repeated)
        assert (choice.token, bits_of(choice.logprob)) == sampled(firmware, state, logits, repeated)
        tokens.add(choice.token)
    assert len(tokens) > 8


@settings(max_examples=80, deadline=None)
@given(logits=LOGITS | ODD_LOGITS)
@example(logits=np.zeros(1, np.float32))
def test_log_sum_exp_is_the_firmwares_to_the_bit(firmware: ctypes.CDLL, logits: F32) -> None:
    expected = firmware.log_sum_exp(logits.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(logits)))
    assert bits_of(float(log_sum_exp(logits))) == bits_of(expected)


@pytest.mark.parametrize(
    "kind",
    [Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0, Q.Q4_K, Q.Q5_K, Q.Q6_K, Q.F16],
    ids=lambda kind: kind.name,
)
def test_kernels_find_the_weights_that_the_packer_put_there(
    firmware: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Q
) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path))
    path = gguf_files.write_model(tmp_path / "m.gguf", matrix=kind, hidden=256, ffn=512, layers=1)
    image = read_image(Model.open(path).image().path)
    entry = next(entry for entry in image.entries if entry.rows == 512)
    data = image.tensor(entry)
    expected = [np.concatenate(parts) for parts in zip(*map(integers, unpack_panels(entry, data)), strict=True)]
    panel_bytes = FORMATS[TensorFormat(entry.format)].panel_bytes(entry.columns)
    random = np.random.default_rng(2)
    for row, k in zip(random.integers(0, 512, 300).tolist(), random.integers(0, 256, 300).tolist(), strict=True):
        panel = data[row // 16 * panel_bytes :].ctypes.data_as(ctypes.c_void_p)
        found = firmware.reference_weight(entry.format, panel, row % 16, k)
        factor = firmware.reference_column_scale(entry.format, panel, row % 16, entry.columns)
        assert [found.q, found.scale, found.minimum] == [values[row, k] for values in expected[:3]]
        assert factor == expected[3][row]


def integers(weights: PackedWeights) -> tuple[npt.NDArray[np.generic], ...]:
    """codes, di and mi of each weight, and D of each row."""
    width = weights.codes.shape[1] // weights.scales.shape[1]
    minimums = np.zeros_like(weights.scales) if weights.minimums is None else weights.minimums
    return (
        weights.codes,
        weights.scales.repeat(width, axis=1),
        minimums.repeat(width, axis=1),
        weights.factors,
    )
