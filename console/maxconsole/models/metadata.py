# SPDX-License-Identifier: Apache-2.0
"""Typed look-ups in a model file's key/value metadata."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from maxconsole.errors import UserError

Value: TypeAlias = "bool | int | float | str | list[str] | npt.NDArray[np.generic]"

_HINT: Final = "the file is damaged, or made by a converter that does not follow the GGUF naming"


class Metadata:
    """The metadata of one file. Every look-up raises UserError that names the key when it is missing or wrong."""

    __slots__ = ("_values", "path")

    def __init__(self, path: Path, values: Mapping[str, Value]) -> None:
        self.path = path
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def keys(self) -> tuple[str, ...]:
        return tuple(self._values)

    def integer(self, key: str, minimum: int, maximum: int, *, default: int | None = None) -> int:
        """An integer within [minimum, maximum]; `default` where the key is absent."""
        value = self._values.get(key, default)
        if value is None:
            raise self._missing(key)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise self._wrong(key, value, f"it must be a whole number from {minimum} to {maximum}")
        return value

    def real(self, key: str, *, default: float | None = None) -> float:
        """A finite number."""
        value = self._values.get(key, default)
        if value is None:
            raise self._missing(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._wrong(key, value, "it must be a number")
        return float(value)

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "it must be true or false")
        return value

    def text(self, key: str, *, default: str | None = None) -> str:
        value = self._values.get(key, default)
        if value is None:
            raise self._missing(key)
        if not isinstance(value, str):
            raise self._wrong(key, value, "it must be text")
        return value

    def texts(self, key: str) -> list[str]:
        """An array of strings."""
        value = self._values.get(key)
        if value is None:
            raise self._missing(key)
        if not isinstance(value, list):
            raise self._wrong(key, value, "it must be an array of text")
        return value

    def numbers(self, key: str) -> npt.NDArray[np.generic]:
        """An array of numbers."""
        value = self._values.get(key)
        if value is None:
            raise self._missing(key)
        if not isinstance(value, np.ndarray):
            raise self._wrong(key, value, "it must be an array of numbers")
        return value

    def _missing(self, key: str) -> UserError:
        return UserError(f"{self.path}: the metadata key {key} is missing", hint=_HINT)

    def _wrong(self, key: str, value: object, rule: str) -> UserError:
        shown = repr(value)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        return UserError(f"{self.path}: {key} is {shown}: {rule}", hint=_HINT)
