# SPDX-License-Identifier: Apache-2.0
"""How the next token is chosen."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from maxconsole.errors import UserError
from maxconsole.schema import wire


@dataclass(frozen=True, slots=True)
class Sampling:
    """Parameters of one request. Raises UserError for values that the firmware would refuse.

    `temperature` 0 takes the likeliest token. `top_k` 0 means the firmware's largest candidate set. The last
    `repeat_window` tokens are made less likely by `repeat_penalty`; 1 leaves them alone. `seed` None draws one.
    `logprobs` asks how likely each chosen token was, which costs a pass over all logits.
    """

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.9
    repeat_penalty: float = 1.1
    repeat_window: int = 64
    seed: int | None = None
    logprobs: bool = False

    def __post_init__(self) -> None:
        _check("temperature", self.temperature, 0, 100)
        _check("top-k", self.top_k, 0, 2**32 - 1)
        _check("top-p", self.top_p, 0, 1, exclusive=True)
        _check("repeat-penalty", self.repeat_penalty, 0, 100, exclusive=True)
        _check("repeat-window", self.repeat_window, 0, 2**32 - 1)
        if self.seed is not None:
            _check("seed", self.seed, 0, 2**64 - 1)

    @classmethod
    def of(cls, command: wire.Generate) -> Self:
        """What a command says. Fractions travel in 32 bits: the shortest decimals that mean those."""
        return cls(
            temperature=_shortest(command.temperature),
            top_k=command.top_k,
            top_p=_shortest(command.top_p),
            repeat_penalty=_shortest(command.repeat_penalty),
            repeat_window=command.repeat_window,
            seed=command.seed,
            logprobs=bool(command.flags & wire.GenerateFlag.LOGPROBS),
        )

    def seeded(self) -> Sampling:
        """The same with a seed, drawn if there is none, so that the request can be repeated."""
        return self if self.seed is not None else replace(self, seed=secrets.randbits(63))


def _shortest(value: float) -> float:
    return float(np.format_float_scientific(np.float32(value), unique=True))


def _check(name: str, value: float, low: float, high: float, *, exclusive: bool = False) -> None:
    above = value > low if exclusive else value >= low
    if not (math.isfinite(value) and above and value <= high):
        raise UserError(f"{name} is {value:g}", hint=f"choose {'more than ' if exclusive else ''}{low:g} to {high:g}")


GREEDY = Sampling(temperature=0.0, top_k=1, top_p=1.0, repeat_penalty=1.0, repeat_window=0, seed=0)
