# SPDX-License-Identifier: Apache-2.0
"""All checks. A new one is a module with a CHECK, and its name here."""

from __future__ import annotations

from maxconsole.validation import (
    engine_decode,
    engine_kernels,
    engine_llama,
    engine_map,
    engine_prefill,
    engine_sizes,
    llama_decode,
    llama_repacked,
    loops,
    memory,
    repeat,
    speed,
)
from maxconsole.validation.check import Check

BOARD_CHECKS: tuple[Check, ...] = (
    loops.CHECK,
    llama_decode.CHECK,
    llama_repacked.F3,
    llama_repacked.F4,
    repeat.CHECK,
    speed.CHECK,
    memory.CHECK,
)

LLAMA_CHECKS: tuple[Check, ...] = (
    engine_llama.E4,
    engine_llama.E5,
    engine_llama.E5B,
    engine_llama.E5C,
    engine_llama.E5D,
)

ENGINE_CHECKS: tuple[Check, ...] = (
    engine_kernels.CHECK,
    engine_prefill.E2,
    engine_prefill.E3,
    *LLAMA_CHECKS,
    engine_decode.E7,
    engine_decode.E8,
    engine_prefill.E9,
    engine_map.MAP,
    engine_sizes.CHECK,
)
