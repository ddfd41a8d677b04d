# SPDX-License-Identifier: Apache-2.0
"""All checks. A new one is a module with a CHECK, and its name here."""

from __future__ import annotations

from maxconsole.validation import llama_decode, llama_repacked, loops, memory, repeat, speed
from maxconsole.validation.check import Check

CHECKS: tuple[Check, ...] = (
    loops.CHECK,
    llama_decode.CHECK,
    llama_repacked.F3,
    llama_repacked.F4,
    repeat.CHECK,
    speed.CHECK,
    memory.CHECK,
)
