# SPDX-License-Identifier: Apache-2.0
"""What a model needs from a board's memory depends on these few facts of its file's header."""

from __future__ import annotations

from dataclasses import dataclass, fields

from maxconsole.errors import UserError

_LIMIT = 1 << 24  # beyond any model that a 40-bit address could hold; keeps the arithmetic below honest


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Shapes of a decoder-only transformer. `image_bytes` is the size of its weight image.

    Raises UserError for shapes that no such model has.
    """

    family: str
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context_train: int
    image_bytes: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "family":
                continue
            limit = 1 << 40 if field.name == "image_bytes" else _LIMIT
            if not isinstance(value, int) or not 0 < value <= limit:
                raise UserError(f"the model's {field.name} is {value}, which is not a number from 1 to {limit}")
        if self.heads % self.kv_heads:
            raise UserError(f"the model's {self.heads} heads cannot share {self.kv_heads} key-value heads evenly")
