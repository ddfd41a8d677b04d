# SPDX-License-Identifier: Apache-2.0
"""Opens GGUF files: everything in the directory is checked before anything is mapped or allocated.

Format: "GGUF" version 2 and 3, little-endian, as the package `gguf` defines it; its type numbers and block sizes are
used here. Its own reader is not: it builds a numpy array for each token of the vocabulary (5 s for 49152 tokens,
against 0.1 s here) and trusts every count and offset in the file.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGUF_DEFAULT_ALIGNMENT, GGMLQuantizationType, GGUFValueType

from maxconsole.errors import UserError
from maxconsole.models.cursor import Cursor
from maxconsole.models.metadata import Metadata, Value

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_KEYS_MAX: Final = 1 << 16
_TENSORS_MAX: Final = 1 << 16
_KEY_BYTES_MAX: Final = 1 << 16
_NAME_BYTES_MAX: Final = 256
_DIMENSIONS_MAX: Final = 4
_ELEMENTS_MAX: Final = 1 << 40
_ALIGNMENT_MAX: Final = 1 << 16
_HINT: Final = "the file is damaged: download it again"
_SCALARS: Final[Mapping[int, np.dtype[np.generic]]] = {
    GGUFValueType.UINT8: np.dtype("<u1"),
    GGUFValueType.INT8: np.dtype("<i1"),
    GGUFValueType.UINT16: np.dtype("<u2"),
    GGUFValueType.INT16: np.dtype("<i2"),
    GGUFValueType.UINT32: np.dtype("<u4"),
    GGUFValueType.INT32: np.dtype("<i4"),
    GGUFValueType.FLOAT32: np.dtype("<f4"),
    GGUFValueType.BOOL: np.dtype("?"),
    GGUFValueType.UINT64: np.dtype("<u8"),
    GGUFValueType.INT64: np.dtype("<i8"),
    GGUFValueType.FLOAT64: np.dtype("<f8"),
}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of the directory. `shape` is in C order: (rows, columns) for a matrix, (length,) for a vector."""

    name: str
    type: GGMLQuantizationType
    shape: tuple[int, ...]
    offset: int  # from the start of the file
    bytes: int


@dataclass(frozen=True, slots=True)
class GgufFile:
    """An open GGUF file; `raw` maps tensors, nothing else is read until it is needed."""

    path: Path
    metadata: Metadata
    tensors: Mapping[str, TensorInfo]
    _map: mmap.mmap

    def raw(self, info: TensorInfo) -> npt.NDArray[np.uint8]:
        """The bytes of a tensor as (rows, bytes of a row); a vector is one row. Mapped from the file, read-only."""
        rows = int(np.prod(info.shape[:-1], dtype=np.int64))
        return np.frombuffer(self._map, np.uint8, info.bytes, info.offset).reshape(rows, info.bytes // rows)

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return len(self._map)


def open_gguf(path: Path) -> GgufFile:
    """Opens a model file.

    Raises UserError that says what is wrong and where: no such file, not a GGUF file, truncated, a count, length,
    shape or offset that cannot be, a tensor of an unknown type.
    """
    path = path.expanduser()
    try:
        with path.open("rb") as file:
            magic = file.read(4)
            if magic != _MAGIC:
                raise UserError(f"{path}: {_not_gguf(magic)}", hint="give the path of a .gguf file")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise UserError(f"there is no model file {path}") from error
    except IsADirectoryError as error:
        raise UserError(f"{path} is a folder, not a model file", hint="give the path of a .gguf file") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    cursor = Cursor(memoryview(mapped), path, at=4)
    _check_version(cursor)
    tensor_count = cursor.count("the number of tensors", _TENSORS_MAX, 24)
    key_count = cursor.count("the number of metadata keys", _KEYS_MAX, 12)
    metadata = Metadata(path, _read_metadata(cursor, key_count))
    parts = metadata.integer("split.count", 0, 1 << 16, default=0)
    if parts > 1:
        raise UserError(
            f"{path} is one of {parts} parts of a model", hint="join them with `llama-gguf-split --merge` first"
        )
    return GgufFile(path, metadata, _read_tensors(cursor, tensor_count, metadata), mapped)


def _not_gguf(magic: bytes) -> str:
    if not magic:
        return "the file is empty"
    if magic == b"FUGG":
        return "a big-endian GGUF file, and only little-endian ones are read"
    if magic in (b"lmgg", b"tjgg", b"fmgg"):
        return "a model in the older GGML format, and only GGUF is read"
    return "not a GGUF file (it does not start with the letters GGUF)"


def _check_version(cursor: Cursor) -> None:
    version = cursor.u32("the version")
    if version & 0xFFFF == 0:
        raise cursor.error("a big-endian GGUF file, and only little-endian ones are read")
    if version not in _VERSIONS:
        raise cursor.error(f"GGUF version {version}, and only versions 2 and 3 are read")


def _read_metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for index in range(count):
        key = cursor.text(f"the name of metadata key {index}", _KEY_BYTES_MAX)
        if key in values:
            raise cursor.error(f"metadata key {key} occurs twice", hint=_HINT)
        values[key] = _read_value(cursor, cursor.u32(f"the type of {key}"), key)
    return values


def _read_value(cursor: Cursor, kind: int, key: str) -> Value:
    if kind == GGUFValueType.STRING:
        return cursor.text(key, cursor.remaining)
    if kind == GGUFValueType.ARRAY:
        return _read_array(cursor, key)
    dtype = _SCALARS.get(kind)
    if dtype is None:
        raise cursor.error(f"{key} has the unknown value type {kind}", hint=_HINT)
    value: int | float | bool = cursor.numbers(dtype, 1, key)[0].item()
    return value


def _read_array(cursor: Cursor, key: str) -> Value:
    kind = cursor.u32(f"the element type of {key}")
    if kind == GGUFValueType.STRING:
        return cursor.texts(key)
    dtype = _SCALARS.get(kind)
    if dtype is None:
        raise cursor.error(f"{key} is an array of the unsupported element type {kind}", hint=_HINT)
    count = cursor.count(f"the length of {key}", cursor.remaining, dtype.itemsize)
    return cursor.numbers(dtype, count, key)


def _read_tensors(cursor: Cursor, count: int, metadata: Metadata) -> dict[str, TensorInfo]:
    alignment = metadata.integer("general.alignment", 1, _ALIGNMENT_MAX, default=GGUF_DEFAULT_ALIGNMENT)
    if alignment & (alignment - 1):
        raise UserError(f"{metadata.path}: general.alignment is {alignment}, not a power of two", hint=_HINT)
    listed = [_read_tensor(cursor, index) for index in range(count)]
    base = -(-cursor.at // alignment) * alignment
    tensors: dict[str, TensorInfo] = {}
    for info in listed:
        problem = None
        if info.name in tensors:
            problem = "occurs twice"
        elif info.offset % alignment:
            problem = f"starts at {info.offset}, which is not a multiple of {alignment}"
        elif base + info.offset + info.bytes > cursor.at + cursor.remaining:
            end = cursor.at + cursor.remaining
            problem = f"ends at byte {base + info.offset + info.bytes}, and the file at byte {end}"
        if problem:
            raise UserError(f"{metadata.path}: tensor {info.name} {problem}", hint=_HINT)
        tensors[info.name] = TensorInfo(info.name, info.type, info.shape, base + info.offset, info.bytes)
    return tensors


def _read_tensor(cursor: Cursor, index: int) -> TensorInfo:
    """A directory entry; its offset still counts from the start of the tensor data."""
    name = cursor.text(f"the name of tensor {index}", _NAME_BYTES_MAX)
    dimensions = cursor.u32(f"the number of dimensions of {name}")
    if not 1 <= dimensions <= _DIMENSIONS_MAX:
        raise cursor.error(f"tensor {name} has {dimensions} dimensions", hint=_HINT)
    shape = tuple(cursor.u64(f"the shape of {name}") for _ in range(dimensions))[::-1]
    elements = 1
    for length in shape:
        elements *= length
    if not 1 <= elements <= _ELEMENTS_MAX:
        raise cursor.error(f"tensor {name} has the shape {_product(shape)}", hint=_HINT)
    number = cursor.u32(f"the type of {name}")
    try:
        kind = GGMLQuantizationType(number)
    except ValueError as error:
        raise cursor.error(f"tensor {name} has the unknown type {number}", hint=_HINT) from error
    block, block_bytes = GGML_QUANT_SIZES[kind]
    if shape[-1] % block:
        raise cursor.error(f"tensor {name} has rows of {shape[-1]}, and {kind.name} needs multiples of {block}")
    offset = cursor.u64(f"the offset of {name}")
    return TensorInfo(name, kind, shape, offset, elements // block * block_bytes)


def _product(shape: tuple[int, ...]) -> str:
    return " x ".join(str(length) for length in shape)
