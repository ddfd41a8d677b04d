# SPDX-License-Identifier: Apache-2.0
"""Reads little-endian values from a byte buffer, never past its end and never more than it holds."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.errors import UserError

_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")
_DAMAGED: Final = "the file is truncated or damaged: download it again"


class Cursor:
    """A position in `data`; every refusal names the file, the byte offset and what was being read."""

    __slots__ = ("_data", "_path", "at")

    def __init__(self, data: memoryview, path: Path, at: int = 0) -> None:
        self._data = data
        self._path = path
        self.at = at

    @property
    def remaining(self) -> int:
        return len(self._data) - self.at

    def error(self, problem: str, *, hint: str = "") -> UserError:
        return UserError(f"{self._path}: {problem} (at byte {self.at})", hint=hint)

    def skip(self, size: int, what: str) -> int:
        """Moves `size` bytes on and returns where it was. Raises UserError when the file ends before that."""
        if size > self.remaining:
            raise self.error(
                f"{what} needs {size} bytes, and the file ends after {self.remaining}",
                hint=_DAMAGED,
            )
        start = self.at
        self.at += size
        return start

    def u32(self, what: str) -> int:
        value: int = _U32.unpack_from(self._data, self.skip(4, what))[0]
        return value

    def u64(self, what: str) -> int:
        value: int = _U64.unpack_from(self._data, self.skip(8, what))[0]
        return value

    def count(self, what: str, limit: int, each: int) -> int:
        """A u64 number of items of at least `each` bytes: refused above `limit` or when the file cannot hold them."""
        start = self.at
        value = self.u64(what)
        if value > limit or value * each > self.remaining:
            self.at = start
            room = min(limit, (self.remaining - 8) // each)
            raise self.error(f"{what} is {value}, and at most {room} are possible here", hint=_DAMAGED)
        return value

    def text(self, what: str, limit: int) -> str:
        """A length-prefixed UTF-8 string."""
        start = self.skip(size := self.count(f"the length of {what}", limit, 1), what)
        try:
            return str(self._data[start : start + size], "utf-8")
        except UnicodeDecodeError as error:
            self.at = start + error.start
            raise self.error(f"{what} is not UTF-8 text", hint=_DAMAGED) from error

    def texts(self, key: str) -> list[str]:
        """A u64 count, then so many strings. Vocabularies have some 100,000: the loop does nothing that it need not."""
        count = self.count(f"the length of {key}", self.remaining, 8)
        data, end, at = self._data, len(self._data), self.at
        found: list[str] = []
        for index in range(count):
            start = at + 8
            size = _U64.unpack_from(data, at)[0] if start <= end else end
            at = start + size
            try:
                if at > end:
                    raise self.error(f"{key}[{index}] reaches past the end of the file", hint=_DAMAGED)
                found.append(str(data[start:at], "utf-8"))
            except UnicodeDecodeError as error:
                raise self.error(f"{key}[{index}] is not UTF-8 text", hint=_DAMAGED) from error
            self.at = at
        return found

    def numbers(self, dtype: np.dtype[np.generic], count: int, what: str) -> npt.NDArray[np.generic]:
        """`count` values of `dtype`, copied out of the buffer."""
        start = self.skip(count * dtype.itemsize, what)
        return np.frombuffer(self._data, dtype, count, start).copy()
