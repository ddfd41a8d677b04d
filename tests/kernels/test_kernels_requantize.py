# SPDX-License-Identifier: Apache-2.0
"""Requantized panels: the C reference equals the console's numpy twin, and both are close to the file's weights."""

from __future__ import annotations

import ctypes

import kernel_library as kl
import numpy as np
import numpy.typing as npt
import pytest
from gentle_models import gentle_rows
from gguf.constants import GGMLQuantizationType as Q
from gguf_files import write_model

from maxconsole.models.cache import weight_image
from maxconsole.models.image import WeightImage
from maxconsole.models.reader import open_gguf
from maxconsole.models.requantize import UNIT_SMOOTHING, requantize
from maxconsole.models.smoothing import READERS, Smoothing
from maxconsole.models.unpack import unpack_panels
from maxconsole.schema.image import TensorEntry, TensorRole

U8 = npt.NDArray[np.uint8]
I8 = npt.NDArray[np.int8]
F32 = npt.NDArray[np.float32]
TYPES = (Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0, Q.Q4_K, Q.Q5_K, Q.Q6_K, Q.F16)


@pytest.fixture(scope="module", params=TYPES, ids=lambda kind: kind.name.lower())
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> WeightImage:
    folder = tmp_path_factory.mktemp("requantize")
    wide = request.param in (Q.Q4_K, Q.Q5_K, Q.Q6_K)
    hidden, ffn = (256, 512) if wide else (128, 160)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXCONSOLE_CACHE", str(folder / "cache"))
        names = {f"blk.0.{name}.weight": shape for name, shape in shapes(hidden, ffn).items()}
        rows = {name: (gentle_rows(request.param, *shape, seed=7), request.param) for name, shape in names.items()}
        path = write_model(folder / "m.gguf", matrix=request.param, hidden=hidden, ffn=ffn, layers=1, replace=rows)
        return weight_image(open_gguf(path))


def shapes(hidden: int, ffn: int) -> dict[str, tuple[int, int]]:
    return {"ffn_gate": (ffn, hidden), "ffn_up": (ffn, hidden), "ffn_down": (hidden, ffn)}


def smoothing(image: WeightImage, role: TensorRole) -> Smoothing:
    entry = entry_of(image, role)
    return Smoothing.unpack(image.tensor(entry), entry.columns, entry.rows)


def entry_of(image: WeightImage, role: TensorRole) -> TensorEntry:
    return next(entry for entry in image.entries if entry.role == role)


class Firmware:
    """The int8 panels that the firmware's reference makes of one matrix."""

    def __init__(self, library: ctypes.CDLL, entry: TensorEntry, packs: U8, found: Smoothing, first: int) -> None:
        self._library = library
        self._entry = entry
        self._panels = np.ascontiguousarray(packs.reshape(-1, entry.bytes // (entry.rows // 16)))
        self._k = len(found.factors)
        rows = slice(first, first + entry.rows)
        self._parts = (
            found.reciprocals,
            found.factors.astype(np.int16) * np.int16(found.unit),
            found.factors,
            np.ascontiguousarray(found.scales[rows]),
            np.ascontiguousarray(found.multipliers[rows]),
        )

    def panel(self, index: int) -> tuple[I8, F32]:
        """int8 weights [16][K] in plain order, and E."""
        weights = np.empty(16 * self._k, np.int8)
        panel = kl.Int8Panel(kl.address(weights))
        by = kl.Requantization(*map(kl.address, self._parts))
        self._library.reference_requantize_panel(
            self._entry.format,
            ctypes.c_void_p(kl.address(self._panels[index])),
            index,
            self._k,
            ctypes.byref(by),
            ctypes.byref(panel),
        )
        assert panel.k == self._k
        plain = weights.reshape(2, self._k // 4, 8, 4).transpose(0, 2, 1, 3).reshape(16, self._k)
        return plain, np.array(panel.columns[:], np.float32)


@pytest.mark.parametrize("role", [TensorRole.FFN_UP, TensorRole.FFN_DOWN], ids=["up", "down"])
def test_the_reference_is_the_numpy_twin_and_close_to_the_weights(
    library: ctypes.CDLL, image: WeightImage, role: TensorRole
) -> None:
    entry = entry_of(image, role)
    owner, readers = next(item for item in READERS.items() if role in item[1])
    found = smoothing(image, owner)
    first = sum(entry_of(image, reader).rows for reader in readers[: readers.index(role)])
    firmware = Firmware(library, entry, image.tensor(entry), found, first)
    [weights] = unpack_panels(entry, image.tensor(entry))
    rows = slice(first, first + entry.rows)
    twin = requantize(weights, found.factors, found.unit, found.multipliers[rows])
    scales = found.scales[rows]
    for index in range(entry.rows // 16):
        plain, columns = firmware.panel(index)
        here = slice(16 * index, 16 * index + 16)
        np.testing.assert_array_equal(plain, twin[here])
        np.testing.assert_array_equal(columns, scales[here])
    smoothed = weights.dense() * (found.factors / np.float32(UNIT_SMOOTHING))
    assert np.abs(twin).max() == 127
    error = np.square(twin * scales[:, None] - smoothed).sum(axis=1)
    # Rounding to int8 itself, and a fifth for what a format with minima adds.
    ideal = np.square(np.abs(smoothed).max(axis=1) / 127) / 12 * smoothed.shape[1]
    assert error.sum() < 1.2 * ideal.sum()


def test_activations_are_divided_by_what_weights_are_multiplied_with(image: WeightImage) -> None:
    found = smoothing(image, TensorRole.FFN_SMOOTHING)
    used = found.factors > 0
    np.testing.assert_allclose(found.reciprocals[used] * found.factors[used], UNIT_SMOOTHING, rtol=1e-6)
    assert not found.reciprocals[~used].any()
    assert found.factors.max() == 127
