# SPDX-License-Identifier: Apache-2.0
"""Writes weight images: header, tensor table, packed tensors, smoothing, checksums (docs/weight-image.md)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

from maxconsole.models.calibration import calibration_tokens, layer_statistics
from maxconsole.models.layout import ImageLayout
from maxconsole.models.oracle_weights import FileWeights
from maxconsole.models.pack import pack_tensor
from maxconsole.models.reader import GgufFile
from maxconsole.models.smoothing import READERS, smoothing_of
from maxconsole.models.special_tokens import read_special_tokens
from maxconsole.schema.image import IMAGE_MAGIC, IMAGE_VERSION, ImageHeader, TensorEntry, TensorRole

#: called with the work done and the work in all, in bytes; what it raises stops it
Progress = Callable[[int, int], None]

_NAME_BYTES: Final = 64


def write_image(file: GgufFile, layout: ImageLayout, out: BinaryIO, progress: Progress) -> None:
    """Packs all weights of `file` into `out`, an empty file that can be read back.

    Raises UserError for weights that cannot be packed, OSError where `out` cannot be written.
    """
    out.write(bytes(layout.header_bytes))
    total = 2 * layout.total_bytes  # calibration takes about as long as packing
    crc = 0
    done = layout.header_bytes
    for tensor in layout.tensors:
        for piece in pack_tensor(file, tensor):
            crc = zlib.crc32(piece.data, crc)
            out.write(piece.data)
            done += piece.nbytes
            progress(done, total)
    for layer, tensors in enumerate(_smoothing(file, layout, out)):
        for packed in tensors:
            crc = zlib.crc32(packed.data, crc)
            out.write(packed.data)
            done += packed.nbytes
        progress(done + layout.total_bytes * (layer + 1) // layout.shapes.layers, total)
    if done != layout.total_bytes:
        raise AssertionError(f"packed {done} bytes where the layout has {layout.total_bytes}")
    out.seek(0)
    out.write(_header(file, layout, crc))


def _smoothing(file: GgufFile, layout: ImageLayout, out: BinaryIO) -> Iterator[list[npt.NDArray[np.uint8]]]:
    """The smoothing tensors of each layer, from the packed matrices in `out`, which is left at its end."""
    entries = {(TensorRole(entry.role), entry.layer): entry for entry in layout.entries}
    tokens = calibration_tokens(file, layout.shapes.vocabulary)
    for layer, statistics in enumerate(layer_statistics(FileWeights(file, layout), tokens)):
        made = []
        for role, readers in READERS.items():
            matrices = [(entry, _read_back(out, entry)) for entry in (entries[reader, layer] for reader in readers)]
            made.append(smoothing_of(statistics[role], matrices).packed())
        out.seek(0, 2)
        yield made


def _read_back(out: BinaryIO, entry: TensorEntry) -> npt.NDArray[np.uint8]:
    out.seek(entry.offset)
    return np.frombuffer(out.read(entry.bytes), np.uint8)


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
