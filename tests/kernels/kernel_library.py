# SPDX-License-Identifier: Apache-2.0
"""The portable C of kernels, KV ring and model binding, as a shared library for the machine that runs the tests."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from maxconsole import paths

BOARD_CONTEXT = 256
BOARD_BATCH = 32
PAGE_TOKENS = 32
SINKS = 4

_SOURCES = (
    "kernels/reference/attention_ref.c",
    "kernels/reference/float_ref.c",
    "kernels/reference/int8_ref.c",
    "kernels/reference/linear_ref.c",
    "kernels/reference/requantize_ref.c",
    "kernels/reference/weights_ref.c",
    "kernels/pack.c",
    "memory/kv_ring.c",
    "engine/model.c",
)
# Undefined behavior traps, so that a test sees it.
_FLAGS = ("-shared", "-fPIC", "-O1", "-g", "-std=c11", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror")
_TRAPS = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-fno-sanitize=float-divide-by-zero")


class Activations(ctypes.Structure):
    """struct activations."""

    _fields_ = (
        ("values", ctypes.c_void_p),
        ("groups", ctypes.c_void_p),
        ("low_sums", ctypes.c_void_p),
        ("row_scales", ctypes.c_void_p),
        ("k", ctypes.c_uint),
    )


class Int8Activations(ctypes.Structure):
    """struct int8_activations."""

    _fields_ = (
        ("values", ctypes.c_void_p),
        ("steps", ctypes.c_void_p),
        ("row_scales", ctypes.c_void_p),
        ("k", ctypes.c_uint),
        ("block", ctypes.c_uint),
    )


class Int8Panel(ctypes.Structure):
    """struct int8_panel."""

    _fields_ = (("weights", ctypes.c_void_p), ("columns", ctypes.c_float * 16), ("k", ctypes.c_uint))


class FloatRows(ctypes.Structure):
    """struct float_rows."""

    _fields_ = (("x", ctypes.c_void_p), ("row", ctypes.c_size_t), ("panel", ctypes.c_size_t))


class Requantization(ctypes.Structure):
    """struct requantization."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("reciprocals", "products", "smoothing", "columns", "multipliers")
    )


class MemoryPool(ctypes.Structure):
    """struct memory_pool."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("used", ctypes.c_size_t),
    )


class KvShape(ctypes.Structure):
    """struct kv_shape."""

    _fields_ = tuple((name, ctypes.c_uint) for name in ("layers", "kv_heads", "head_dim", "context", "batch"))


class KvRing(ctypes.Structure):
    """struct kv_ring."""

    _fields_ = (
        ("shape", KvShape),
        ("pages", ctypes.c_void_p),
        ("tokens", ctypes.c_void_p),
        ("page_count", ctypes.c_uint),
        ("length", ctypes.c_uint32),
        ("first_page", ctypes.c_uint32),
    )


class KvUpdate(ctypes.Structure):
    """struct kv_update."""

    _fields_ = (
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("stride", ctypes.c_size_t),
        ("rope", ctypes.c_void_p),
        ("position", ctypes.c_uint32),
        ("rows", ctypes.c_uint),
        ("halves", ctypes.c_bool),
    )


class Attention(ctypes.Structure):
    """struct attention."""

    _fields_ = (
        ("queries", ctypes.c_void_p),
        ("stride", ctypes.c_size_t),
        ("rope", ctypes.c_void_p),
        ("sink_rope", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("position", ctypes.c_uint32),
        ("rows", ctypes.c_uint),
        ("heads", ctypes.c_uint),
        ("form", ctypes.c_uint),
        ("stage", ctypes.c_void_p),
        ("alone", ctypes.c_bool),
    )


def address(array: npt.NDArray[Any]) -> int:
    """Where a contiguous array's data is."""
    assert array.flags["C_CONTIGUOUS"]
    return array.ctypes.data


def ring(library: ctypes.CDLL, shape: KvShape) -> tuple[KvRing, npt.NDArray[np.uint8]]:
    """An empty ring, and the memory that it lives in."""
    size = library.kv_ring_bytes(ctypes.byref(shape))
    memory = np.zeros(size + 64, np.uint8)
    base = -(-address(memory) // 64) * 64
    pool = MemoryPool(b"kv", base, size, 0)
    made = KvRing()
    assert library.kv_ring_init(ctypes.byref(made), ctypes.byref(shape), ctypes.byref(pool))
    assert pool.used == size
    return made, memory


def build(folder: Path) -> ctypes.CDLL:
    """Compiles and loads the library. Skips where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler for this machine")
    (folder / "board_config.h").write_text(
        f"#define BOARD_CONTEXT {BOARD_CONTEXT}\n#define BOARD_BATCH {BOARD_BATCH}\n"
        f"#define BOARD_SINKS {SINKS}\n#define BOARD_CORES 4\n"
    )
    root = paths.firmware_dir()
    out = folder / "kernels.so"
    shim = Path(__file__).with_name("host_shim.c")
    includes = (f"-I{folder}", f"-I{root}")
    sources = [str(shim), *(str(root / name) for name in _SOURCES)]
    subprocess.run([compiler, *_FLAGS, *_TRAPS, *includes, *sources, "-lm", "-o", str(out)], check=True)
    library = ctypes.CDLL(str(out))
    library.kv_ring_bytes.restype = ctypes.c_size_t
    library.kv_ring_init.restype = ctypes.c_bool
    library.kv_ring_holds.restype = ctypes.c_bool
    library.kv_ring_token.restype = ctypes.c_uint32
    library.reference_rotate_and_quantize.restype = ctypes.c_float
    return library
