# SPDX-License-Identifier: Apache-2.0
"""Which functions make up a kernel, and how to find one by a name that somebody types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from maxconsole.errors import UserError
from maxconsole.firmware.symbols import Function, Symbolizer

_FOLDER: Final = "firmware/kernels/"
_REFERENCES: Final = "firmware/kernels/reference/"

#: Kernel -> patterns of its functions. The names are those of the kernel table of `maxconsole ask`, but that all
#: linear_* share their code: `gemm` in prefill, `gemv` in decode.
KERNELS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "embed": ("embed_*",),
        "rms_norm": ("rms_norm*", "sum_squares", "scale_row", "scale_two_rows"),
        "quantise": (
            "quantize_rows",
            "quantize_tiles*",
            "quantize_blocks",
            "finish_tiles",
            "quantize_group*",
            "quantize_16",
            "zero_groups",
            "find_groups",
        ),
        "dequant": ("dequant*", "requant*"),
        "gemm": ("gemm_*", "partial_tile"),
        "gemv": ("gemv_*",),
        "kv_cache_update": ("kv_cache_*", "rope_*", "rotate_*", "measure_head", "quantize_head", "update_slot*"),
        "attention": (
            "attention*",
            "visible_keys",
            "find_groups",
            "score_groups",
            "quantize_queries",
            "split_queries",
            "stage_*",
            "put_on_stage",
        ),
        "swiglu": ("swiglu*",),
        "residual": ("add", "add_rows"),
        "head": ("log_sum_exp", "logits_*"),
    }
)
_LINEAR: Final = "linear"


def kernel_of(function: str) -> str:
    """The kernel that a function belongs to, or "-"."""
    return next(
        (kernel for kernel, patterns in KERNELS.items() if any(fnmatchcase(function, one) for one in patterns)), "-"
    )


def kernel_functions(symbolizer: Symbolizer) -> tuple[Function, ...]:
    """The functions of firmware/kernels in an image, without the references."""
    return tuple(one for one in symbolizer.functions() if _in_kernels(symbolizer.source_of(one.address)))


def find_functions(symbolizer: Symbolizer, name: str) -> tuple[Function, ...]:
    """The functions of the kernel `name`, or the function of that name, wherever it stands in the image.

    Raises UserError with similar names where there is neither.
    """
    everything = symbolizer.functions()
    exact = tuple(one for one in everything if name in (one.name, _stem(one.name)))
    if exact and name not in KERNELS:
        return exact
    kernels = [kernel for kernel in KERNELS if kernel == name or (kernel in ("gemm", "gemv") and _is_linear(name))]
    found = tuple(one for one in kernel_functions(symbolizer) if kernel_of(one.name) in kernels)
    if found or exact:
        return found or exact
    raise UserError(f"there is no kernel or function {name!r} in the image", hint=_advice(name, everything))


def _in_kernels(file: str) -> bool:
    return file.startswith(_FOLDER) and not file.startswith(_REFERENCES)


def _stem(name: str) -> str:
    """Without what the compiler appends to parts and copies of a function."""
    return name.partition(".")[0]


def _is_linear(name: str) -> bool:
    return name == _LINEAR or name.startswith(_LINEAR + "_")


def _advice(name: str, functions: Sequence[Function]) -> str:
    near = get_close_matches(name, [*KERNELS, *(one.name for one in functions)], n=5, cutoff=0.5)
    near += [one.name for one in functions if name in one.name and one.name not in near][: 5 - len(near)]
    return f"near: {', '.join(near)}" if near else "`maxconsole inspect` lists the kernels"
