# SPDX-License-Identifier: Apache-2.0
"""The firmware's portable C sources as a shared library for the machine that runs the tests."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from maxconsole import paths

_SOURCES = (
    "engine/sampling.c",
    "kernels/pack.c",
    "kernels/reference/float_ref.c",
    "kernels/reference/weights_ref.c",
)
#: The NEON kernels are held against their references on the board; here the references take their place.
_HOST = """
#include "kernels/logits.h"
#include "kernels/reference/reference.h"
float log_sum_exp(const float *x, size_t count) { return reference_log_sum_exp(x, count); }
bool logits_above(const float *x, int32_t key) { return reference_logits_above(x, key); }
"""
_BOARD = "#define BOARD_CONTEXT 512\n#define BOARD_BATCH 64\n#define BOARD_SINKS 4\n#define BOARD_CORES 4\n"


class StoredWeight(ctypes.Structure):
    """struct stored_weight."""

    _fields_ = (("q", ctypes.c_int32), ("scale", ctypes.c_int32), ("minimum", ctypes.c_int32))


class SamplerState(ctypes.Structure):
    """struct sampler."""

    _fields_ = (
        ("temperature", ctypes.c_float),
        ("top_p", ctypes.c_float),
        ("repeat_penalty", ctypes.c_float),
        ("candidates", ctypes.c_uint32),
        ("state", ctypes.c_uint64),
    )


class ChoiceStruct(ctypes.Structure):
    """struct choice."""

    _fields_ = (("token", ctypes.c_uint32), ("logprob", ctypes.c_float))


def build(folder: Path) -> ctypes.CDLL:
    """Compiles the sources with the flags that their arithmetic relies on."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for this machine")
    (folder / "host.c").write_text(_HOST)
    (folder / "board_config.h").write_text(_BOARD)
    root = paths.firmware_dir()
    library = folder / "firmware.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-std=c11", "-ffp-contract=off", f"-I{folder}", f"-I{root}"]
    subprocess.run([*command, "host.c", *(root / name for name in _SOURCES), "-o", library], cwd=folder, check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.sampler_init.restype = ctypes.c_bool
    loaded.sampler_next.restype = ctypes.c_uint64
    loaded.sample.restype = ChoiceStruct
    loaded.log_sum_exp.restype = ctypes.c_float
    loaded.reference_weight.restype = StoredWeight
    loaded.reference_column_scale.restype = ctypes.c_float
    return loaded
