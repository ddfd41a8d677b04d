# SPDX-License-Identifier: Apache-2.0
"""Measurements: what they say of loops, how they are kept, and how they leave the console."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from maxconsole.inspection.export import Place, folded_lines, speedscope
from maxconsole.inspection.measurement import Measurement
from maxconsole.virtual import HotSpots
from maxconsole.virtual.hot_spots import Spot

CYCLES = {
    Place("gemm", "gemm_tile", "firmware/kernels/gemm.S", 7): 60.25,
    Place("gemm", "gemm_tile", "firmware/kernels/gemm.S", 8): 30.0,
    Place("engine", "forward", "firmware/engine/forward.c", 12): 9.5,
    Place("engine", "forward", "", 0): 0.25,
}


@pytest.fixture
def measurement() -> Measurement:
    counts = np.array([[1, 8, 0, 0], [10, 160, 3, 1], [10, 40, 0, 0], [0, 0, 0, 0]], dtype=np.uint64)
    return Measurement("a1b2", "2+1 tokens of tiny on test", HotSpots(0x1000, 8, counts))


def test_shares_are_of_all_cycles(measurement: Measurement) -> None:
    assert measurement.cycles == 26
    assert measurement.share(measurement.spots.at(0x1004)) == 20 / 26
    assert list(measurement.spots.executed()) == [
        (0x1000, Spot(1, 1.0, 0, 0)),
        (0x1004, Spot(10, 20.0, 3, 1)),
        (0x1008, Spot(10, 5.0, 0, 0)),
    ]


def test_the_last_measurement_of_a_build_is_kept(
    measurement: Measurement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path))
    assert Measurement.load("a1b2") is None
    measurement.store()
    found = Measurement.load("a1b2")
    assert found is not None
    assert (found.title, list(found.spots.executed())) == (measurement.title, list(measurement.spots.executed()))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", bytes(100)])
def test_a_damaged_measurement_counts_as_none(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path))
    (tmp_path / "hot-spots").mkdir()
    (tmp_path / "hot-spots" / "a1b2.npz").write_bytes(content)
    assert Measurement.load("a1b2") is None


def test_folded_stacks_are_frames_and_whole_cycles() -> None:
    assert list(folded_lines(CYCLES)) == [
        "engine;forward;forward.c:12 10",
        "gemm;gemm_tile;gemm.S:7 60",
        "gemm;gemm_tile;gemm.S:8 30",
    ]


def test_a_speedscope_profile_holds_all_cycles_and_only_frames_that_exist() -> None:
    document = json.loads(json.dumps(speedscope(CYCLES, "a title")))
    (profile,) = document["profiles"]
    frames = document["shared"]["frames"]
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "none", 0)
    assert profile["endValue"] == sum(profile["weights"]) == 100
    assert len(profile["samples"]) == len(profile["weights"]) == len(CYCLES)
    assert {index for sample in profile["samples"] for index in sample} == set(range(len(frames)))
    assert [frames[index]["name"] for index in profile["samples"][-1]] == ["gemm", "gemm_tile", "gemm.S:8"]
