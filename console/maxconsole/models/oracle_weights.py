# SPDX-License-Identifier: Apache-2.0
"""Where the oracle takes float32 weights from: a model file, or its packed image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np
from gguf.quants import dequantize

from maxconsole.models.blocks import F32
from maxconsole.models.hyperparameters import Hyperparameters
from maxconsole.models.image import WeightImage
from maxconsole.models.layout import ImageLayout
from maxconsole.models.reader import GgufFile
from maxconsole.models.unpack import unpack_panels, unpack_tensor
from maxconsole.schema.image import TensorEntry, TensorRole

_ROWS: Final = 4096  # of a large matrix that are float32 at a time


class Weights(Protocol):
    """float32 weights by role. Matrices are [outputs][inputs]."""

    shapes: Hyperparameters
    interleaved: bool  # rotary pairs are rows (2i, 2i + 1) of attn_q and attn_k, not (i, i + head_dim / 2)

    def has(self, role: TensorRole, layer: int = 0) -> bool:
        """Whether the model has such a tensor: biases are of some families only."""

    def tensor(self, role: TensorRole, layer: int = 0) -> F32:
        """A whole matrix or vector."""

    def blocks(self, role: TensorRole) -> Iterator[F32]:
        """A large matrix in runs of rows."""

    def rows(self, role: TensorRole, rows: Sequence[int]) -> F32:
        """Some rows of a matrix."""

    @property
    def head(self) -> TensorRole:
        """The matrix that makes logits: the embedding where the head is tied."""


class FileWeights:
    """The weights of a GGUF file as the package `gguf` dequantizes them: no code in common with the packer."""

    def __init__(self, file: GgufFile, layout: ImageLayout) -> None:
        self.shapes = layout.shapes
        self.interleaved = any(tensor.spec.interleaved_heads for tensor in layout.tensors)
        self.head = TensorRole.TOKEN_EMBEDDING if layout.tied_head else TensorRole.OUTPUT
        self._file = file
        self._infos = {(tensor.spec.role, tensor.spec.layer): tensor.info for tensor in layout.tensors}

    def has(self, role: TensorRole, layer: int = 0) -> bool:
        return (role, layer) in self._infos

    def tensor(self, role: TensorRole, layer: int = 0) -> F32:
        info = self._infos[role, layer]
        return self._dequantize(role, layer, slice(None)).reshape(info.shape)

    def blocks(self, role: TensorRole) -> Iterator[F32]:
        for start in range(0, self._infos[role, 0].shape[0], _ROWS):
            yield self._dequantize(role, 0, slice(start, start + _ROWS))

    def rows(self, role: TensorRole, rows: Sequence[int]) -> F32:
        return self._dequantize(role, 0, list(rows))

    def _dequantize(self, role: TensorRole, layer: int, rows: slice | list[int]) -> F32:
        info = self._infos[role, layer]
        return np.asarray(dequantize(np.ascontiguousarray(self._file.raw(info)[rows]), info.type), np.float32)


class ImageWeights:
    """The weights that the firmware computes with: D * (di * q + mi), unpacked from the image."""

    interleaved = False

    def __init__(self, image: WeightImage, layout: ImageLayout) -> None:
        self.shapes = layout.shapes
        self._image = image
        self._entries = {(TensorRole(entry.role), entry.layer): entry for entry in image.entries}
        self.head = TensorRole.OUTPUT if (TensorRole.OUTPUT, 0) in self._entries else TensorRole.TOKEN_EMBEDDING

    def has(self, role: TensorRole, layer: int = 0) -> bool:
        return (role, layer) in self._entries

    def tensor(self, role: TensorRole, layer: int = 0) -> F32:
        entry = self._entries[role, layer]
        return unpack_tensor(entry, self._image.tensor(entry))

    def blocks(self, role: TensorRole) -> Iterator[F32]:
        entry = self._entries[role, 0]
        left = entry.rows
        for panels in unpack_panels(entry, self._image.tensor(entry)):
            part = panels.dense()[:left, : entry.columns]
            left -= len(part)
            yield part

    def rows(self, role: TensorRole, rows: Sequence[int]) -> F32:
        entry: TensorEntry = self._entries[role, 0]
        found = np.empty((len(rows), entry.columns), np.float32)
        wanted = np.asarray(rows)
        start = 0
        for part in self.blocks(role):
            here = (wanted >= start) & (wanted < start + len(part))
            found[here] = part[wanted[here] - start]
            start += len(part)
        return found
