# SPDX-License-Identifier: Apache-2.0
"""Writes and reads weight images: header, tensor table, packed tensors, checksums (docs/weight-image.md)."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

from maxconsole.errors import UserError
from maxconsole.models.layout import ImageLayout
from maxconsole.models.pack import pack_tensor
from maxconsole.models.reader import GgufFile
from maxconsole.models.special_tokens import read_special_tokens
from maxconsole.schema.image import IMAGE_ALIGN, IMAGE_MAGIC, IMAGE_VERSION, ImageHeader, TensorEntry

#: called with the bytes done and the bytes in all; what it raises stops the work
Progress = Callable[[int, int], None]

_NAME_BYTES: Final = 64


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


def write_image(file: GgufFile, layout: ImageLayout, out: BinaryIO, progress: Progress) -> None:
    """Packs all weights of `file` into `out`, an empty seekable file.

    Raises UserError for weights that cannot be packed, OSError where `out` cannot be written.
    """
    out.write(bytes(layout.header_bytes))
    crc = 0
    done = layout.header_bytes
    for tensor in layout.tensors:
        for piece in pack_tensor(file, tensor):
            crc = zlib.crc32(piece.data, crc)
            out.write(piece.data)
            done += piece.nbytes
            progress(done, layout.total_bytes)
    if done != layout.total_bytes:
        raise AssertionError(f"packed {done} bytes where the layout has {layout.total_bytes}")
    out.seek(0)
    out.write(_header(file, layout, crc))


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


def _header(file: GgufFile, layout: ImageLayout, payload_crc: int) -> bytes:
    """Header, table and padding, with both checksums."""
    shapes = layout.shapes
    stop = read_special_tokens(file.metadata).stop
    header = ImageHeader(
        magic=IMAGE_MAGIC,
        version=IMAGE_VERSION,
        header_bytes=layout.header_bytes,
        tensor_count=len(layout.entries),
        total_bytes=layout.total_bytes,
        header_crc=0,
        payload_crc=payload_crc,
        family=shapes.family,
        layers=shapes.layers,
        hidden=shapes.hidden,
        ffn=shapes.ffn,
        heads=shapes.heads,
        kv_heads=shapes.kv_heads,
        head_dim=shapes.head_dim,
        vocabulary=shapes.vocabulary,
        context_train=shapes.context_train,
        rope_pairs=shapes.head_dim // 2,
        rms_epsilon=shapes.rms_epsilon,
        eos_count=len(stop),
        eos=stop,
        rope_step=shapes.rope_step,
        name=_short(shapes.name),
    )
    table = b"".join(entry.pack() for entry in layout.entries)
    rest = table.ljust(layout.header_bytes - ImageHeader.SIZE, b"\0")
    crc = zlib.crc32(rest, zlib.crc32(header.pack()))
    return replace(header, header_crc=crc).pack() + rest


def _short(name: str) -> str:
    """At most _NAME_BYTES - 1 bytes of UTF-8, so that C finds a terminator; no half characters, no NULs."""
    return name.replace("\0", "").encode()[: _NAME_BYTES - 1].decode(errors="ignore")
