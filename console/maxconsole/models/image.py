# SPDX-License-Identifier: Apache-2.0
"""Reads weight images: header, tensor table, packed tensors, checksums (docs/weight-image.md)."""

from __future__ import annotations

import mmap
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from maxconsole.errors import UserError
from maxconsole.schema.image import IMAGE_ALIGN, IMAGE_MAGIC, IMAGE_VERSION, ImageHeader, TensorEntry


class DamagedImageError(Exception):
    """The file is no weight image of this version, or its bytes have changed."""


@dataclass(frozen=True, slots=True)
class WeightImage:
    """A weight image on disk, mapped read-only."""

    path: Path
    header: ImageHeader
    entries: tuple[TensorEntry, ...]
    _map: mmap.mmap

    @property
    def data(self) -> memoryview:
        """The whole image, as it goes into the board's weight pool."""
        return memoryview(self._map)

    def tensor(self, entry: TensorEntry) -> npt.NDArray[np.uint8]:
        """The packed bytes of one tensor."""
        return np.frombuffer(self._map, np.uint8, entry.bytes, entry.offset)


def read_image(path: Path) -> WeightImage:
    """Maps an image and checks it to the last byte (about 0.1 s for 100 MB).

    Raises DamagedImageError, which says what is wrong with it; UserError where it cannot be read at all.
    """
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise DamagedImageError("the file is empty")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    data = memoryview(mapped)
    if len(data) < ImageHeader.SIZE:
        raise DamagedImageError(f"{len(data)} bytes are less than a header")
    header = ImageHeader.unpack(data[: ImageHeader.SIZE])
    _check_header(header, data)
    table = data[ImageHeader.SIZE : ImageHeader.SIZE + header.tensor_count * TensorEntry.SIZE]
    entries = tuple(
        TensorEntry.unpack(table[at : at + TensorEntry.SIZE]) for at in range(0, len(table), TensorEntry.SIZE)
    )
    for entry in entries:
        if entry.offset % IMAGE_ALIGN or not header.header_bytes <= entry.offset <= len(data) - entry.bytes:
            raise DamagedImageError(f"a tensor of {entry.bytes} bytes at {entry.offset} is not within the image")
    return WeightImage(path, header, entries, mapped)


def _check_header(header: ImageHeader, data: memoryview) -> None:
    if header.magic != IMAGE_MAGIC or header.version != IMAGE_VERSION:
        raise DamagedImageError(f"the first words are {header.magic:#x}, {header.version}")
    if header.total_bytes != len(data):
        raise DamagedImageError(f"{len(data)} bytes where the header says {header.total_bytes}")
    needed = ImageHeader.SIZE + header.tensor_count * TensorEntry.SIZE
    if not needed <= header.header_bytes <= len(data):
        raise DamagedImageError(f"the header says that it has {header.header_bytes} bytes")
    blank = replace(header, header_crc=0).pack()
    if zlib.crc32(data[ImageHeader.SIZE : header.header_bytes], zlib.crc32(blank)) != header.header_crc:
        raise DamagedImageError("the header's checksum does not match")
    if zlib.crc32(data[header.header_bytes :]) != header.payload_crc:
        raise DamagedImageError("the checksum of the weights does not match")
