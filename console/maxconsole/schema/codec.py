# SPDX-License-Identifier: Apache-2.0
"""What the generated modules need to convert fields: every refusal is a ValueError that names the field."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

if TYPE_CHECKING:
    import numpy as np


class _Packed(Protocol):
    SIZE: ClassVar[int]

    @classmethod
    def unpack(cls, data: bytes | memoryview) -> Self: ...

    def pack(self) -> bytes: ...


T = TypeVar("T")
P = TypeVar("P", bound=_Packed)


def fixed_text(value: str, size: int, field: str) -> bytes:
    """`value` as UTF-8 for a char[size] field; shorter text is filled with NULs, and needs no terminator."""
    data = value.encode()
    if len(data) > size:
        raise ValueError(f"{field}: {len(data)} bytes of text do not fit {size}")
    if b"\0" in data:
        raise ValueError(f"{field}: text with a NUL in it")
    return data


def text(data: bytes) -> str:
    """A char[] field up to its first NUL; bytes that are not UTF-8 become U+FFFD, for a board may send anything."""
    return data.partition(b"\0")[0].decode(errors="replace")


def fixed_bytes(value: bytes, size: int, field: str) -> bytes:
    """`value` for a u8[size] field: exactly `size` bytes."""
    if len(value) != size:
        raise ValueError(f"{field}: {len(value)} bytes where {size} are needed")
    return value


def filled(values: Sequence[T], size: int, zero: T, field: str) -> tuple[T, ...]:
    """`values` for an array of `size`: arrays travel with their count, so a shorter one is filled with zeros."""
    if len(values) > size:
        raise ValueError(f"{field}: {len(values)} values do not fit {size}")
    return (*values, *(zero,) * (size - len(values)))


def pack_structs(values: Sequence[_Packed], count: int, field: str) -> bytes:
    """An array of exactly `count` structs."""
    if len(values) != count:
        raise ValueError(f"{field}: {len(values)} structs where {count} are needed")
    return b"".join(one.pack() for one in values)


class Dtype:
    """The numpy dtype of a generated struct, made when it is first asked for: importing numpy takes 0.1 s.

    `fields` are (name, format, offset); the format of a nested struct is its class, of an array (format, count).
    """

    def __init__(self, size: int, *fields: tuple[str, Any, int]) -> None:
        self._size = size
        self._fields = fields
        self._made: np.dtype[np.void] | None = None

    def __get__(self, instance: object, owner: type) -> np.dtype[np.void]:
        if self._made is None:
            import numpy as np  # noqa: PLC0415

            names, formats, offsets = zip(*self._fields, strict=True)
            self._made = np.dtype(
                {
                    "names": names,
                    "formats": [_resolved(one) for one in formats],
                    "offsets": offsets,
                    "itemsize": self._size,
                }
            )
        return self._made


def _resolved(format_: Any) -> Any:
    if isinstance(format_, tuple):
        return _resolved(format_[0]), (format_[1],)
    return format_ if isinstance(format_, str) else format_.DTYPE


def pack_run(code: str, values: Sequence[int], field: str) -> bytes:
    """An open-ended run of the scalar with `struct` code `code`."""
    try:
        return struct.pack(f"<{len(values)}{code}", *values)
    except struct.error as error:
        raise ValueError(f"{field}: {error}") from error


def unpack_run(code: str, data: bytes | memoryview, field: str) -> tuple[int, ...]:
    """The scalars that fill `data`."""
    each = struct.calcsize(f"<{code}")
    if len(data) % each:
        raise ValueError(f"{field}: {len(data)} bytes are no multiple of {each}")
    return struct.unpack(f"<{len(data) // each}{code}", data)


def unpack_structs(cls: type[P], data: bytes | memoryview) -> tuple[P, ...]:
    """The structs that fill `data`."""
    if len(data) % cls.SIZE:
        raise ValueError(f"{cls.__name__}: {len(data)} bytes are no multiple of {cls.SIZE}")
    return tuple(cls.unpack(data[at : at + cls.SIZE]) for at in range(0, len(data), cls.SIZE))
