# SPDX-License-Identifier: Apache-2.0
"""How prompts and answers are computed: settings of a running board that change speed and accuracy.

The words are those of wire.NpuMode and wire.AttentionForm. Nothing is imported: the console's first paint needs this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

NpuMode: TypeAlias = Literal["off", "pv", "linear", "all"]
AttentionForm: TypeAlias = Literal["default", "int8-pv", "int16"]


@dataclass(frozen=True, slots=True)
class Route:
    """Prompts of `int8_tokens` tokens and more are computed with weights requantized to int8, which is quicker and less
    exact; 0: none is. `npu` is what of a prompt the NPU computes, with the file's own weights; with `npu_f16` it rounds
    results other than queries, keys and values to fp16. `attention` is how attention is computed, for prompts and
    answers (docs/attention.md).
    """

    int8_tokens: int = 64
    npu: NpuMode = "off"
    npu_f16: bool = False
    attention: AttentionForm = "default"


USUAL: Final = Route()
"""What a firmware does by itself."""
