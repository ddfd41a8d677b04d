# SPDX-License-Identifier: Apache-2.0
"""Where each tensor lies in a weight image: known from the model file's directory alone, before a weight is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from maxconsole.errors import UserError
from maxconsole.models.families import ModelTensor, family_tensors
from maxconsole.models.formats import align, matrix_format, vector_bytes
from maxconsole.models.hyperparameters import Hyperparameters, read_hyperparameters
from maxconsole.models.reader import GgufFile
from maxconsole.models.smoothing import READERS, smoothing_bytes
from maxconsole.schema.image import ImageHeader, TensorEntry, TensorFormat


@dataclass(frozen=True, slots=True)
class ImageLayout:
    """The table of an image: first the entries of `tensors`, each with the tensor that it takes its weights from, then
    those that calibration makes: for every layer one of each role in `smoothing.READERS`.
    """

    shapes: Hyperparameters
    tensors: tuple[ModelTensor, ...]
    entries: tuple[TensorEntry, ...]
    header_bytes: int
    total_bytes: int

    @property
    def tied_head(self) -> bool:
        """The head is the embedding."""
        return self.tensors[-1].spec.name != "output.weight"


def lay_out(file: GgufFile) -> ImageLayout:
    """Raises UserError for a model that is not supported, by architecture, tensor or type."""
    shapes = read_hyperparameters(file)
    tensors = family_tensors(file, shapes)
    count = len(tensors) + shapes.layers * len(READERS)
    header_bytes = align(ImageHeader.SIZE + count * TensorEntry.SIZE)
    entries: list[TensorEntry] = []
    offset = header_bytes
    for tensor in tensors:
        packed_as, size = _format_and_bytes(file, tensor)
        spec = tensor.spec
        entries.append(
            TensorEntry(
                role=spec.role,
                layer=spec.layer,
                format=packed_as,
                rows=spec.rows,
                columns=spec.columns or 1,
                offset=offset,
                bytes=size,
            )
        )
        offset += size
    for made in _smoothing_entries(shapes.layers, entries):
        entries.append(replace(made, offset=offset))
        offset += made.bytes
    return ImageLayout(shapes, tensors, tuple(entries), header_bytes, offset)


def _smoothing_entries(layers: int, entries: Sequence[TensorEntry]) -> Iterator[TensorEntry]:
    matrices = {(entry.role, entry.layer): entry for entry in entries}
    for layer in range(layers):
        for role, readers in READERS.items():
            read_by = [matrices[reader, layer] for reader in readers]
            rows, columns = sum(entry.rows for entry in read_by), read_by[0].columns
            size = smoothing_bytes(columns, rows)
            yield TensorEntry(
                role=role,
                layer=layer,
                format=TensorFormat.SMOOTHING,
                rows=rows,
                columns=columns,
                offset=0,
                bytes=size,
            )


def _format_and_bytes(file: GgufFile, tensor: ModelTensor) -> tuple[TensorFormat, int]:
    spec, info = tensor.spec, tensor.info
    if not spec.columns:
        if info.type.name not in ("F32", "F16", "BF16"):
            raise UserError(f"{file.path}: the vector {spec.name} has the type {info.type.name}, not F32 or F16")
        return TensorFormat.F32, vector_bytes(spec.rows)
    pack = matrix_format(info.type, spec.name, file.path)
    return pack.format, pack.tensor_bytes(spec.rows, spec.columns)
