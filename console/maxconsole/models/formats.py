# SPDX-License-Identifier: Apache-2.0
"""Geometry of the image's tensor formats, and which of them a GGUF tensor type becomes (docs/weight-image.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gguf.constants import GGMLQuantizationType

from maxconsole.errors import UserError
from maxconsole.schema.image import GROUP, IMAGE_ALIGN, PANEL_COLUMNS, TensorFormat

TRAILER_BYTES: Final = 4 * PANEL_COLUMNS  # the f32 factor D of each column


@dataclass(frozen=True, slots=True)
class PackFormat:
    """A pack covers PANEL_COLUMNS columns by `depth` weights along K.

    A weight is D * (di * (code - zero) + mi), where di and mi belong to a group of GROUP weights (q6_k: di to 16).
    """

    format: TensorFormat
    depth: int
    bits: int  # of a code
    zero: int  # subtracted from an unsigned code
    has_min: bool
    scale_limit: int  # largest |di|, or |dk| of a K format before its sub-block scale is applied
    code_bytes: int  # of one group of PANEL_COLUMNS x GROUP codes
    scale_bytes: int  # of all scales in a pack

    @property
    def groups(self) -> int:
        return self.depth // GROUP

    @property
    def pack_bytes(self) -> int:
        return self.groups * self.code_bytes + self.scale_bytes

    def packs(self, columns: int) -> int:
        """Packs that `columns` (K) weights take, the last one padded."""
        return -(-columns // self.depth)

    def panel_bytes(self, columns: int) -> int:
        return align(self.packs(columns) * self.pack_bytes + TRAILER_BYTES)

    def tensor_bytes(self, rows: int, columns: int) -> int:
        return -(-rows // PANEL_COLUMNS) * self.panel_bytes(columns)


MIN_LIMIT: Final = 32767  # largest |mi|, and |mk|
_LEGACY_LIMIT: Final = 4095
#: 127 * 128 * 32 * 2047 leaves a group's sum within int32
_Q8_LIMIT: Final = 2047
#: (63 * 4160 + 32) >> 6 = 4095
_K_LIMIT: Final = 4160

FORMATS: Final[Mapping[TensorFormat, PackFormat]] = {
    pack.format: pack
    for pack in (
        PackFormat(TensorFormat.Q4_0, 64, 4, 8, False, _LEGACY_LIMIT, 256, 64),
        PackFormat(TensorFormat.Q4_1, 64, 4, 0, True, _LEGACY_LIMIT, 256, 128),
        PackFormat(TensorFormat.Q5_0, 64, 5, 16, False, _LEGACY_LIMIT, 320, 64),
        PackFormat(TensorFormat.Q5_1, 64, 5, 0, True, _LEGACY_LIMIT, 320, 128),
        PackFormat(TensorFormat.Q8_0, 64, 8, 0, False, _Q8_LIMIT, 512, 64),
        PackFormat(TensorFormat.Q4_K, 256, 4, 0, True, _K_LIMIT, 256, 256),
        PackFormat(TensorFormat.Q5_K, 256, 5, 0, True, _K_LIMIT, 320, 256),
        PackFormat(TensorFormat.Q6_K, 256, 6, 32, False, _LEGACY_LIMIT, 384, 288),
    )
}

_DENSE: Final = (GGMLQuantizationType.F16, GGMLQuantizationType.BF16, GGMLQuantizationType.F32)
_OF_TYPE: Final[Mapping[GGMLQuantizationType, TensorFormat]] = {
    GGMLQuantizationType[known.name]: known for known in FORMATS
} | dict.fromkeys(_DENSE, TensorFormat.Q8_0)


def matrix_format(kind: GGMLQuantizationType, name: str, path: Path) -> PackFormat:
    """The format that a matrix of type `kind` is packed in. UserError, naming file and tensor, where there is none."""
    if kind not in _OF_TYPE:
        raise UserError(
            f"{path}: the tensor {name} has the type {kind.name}, which is not supported",
            hint=f"supported: {', '.join(known.name for known in _OF_TYPE)}; a Q4_K_M file works",
        )
    return FORMATS[_OF_TYPE[kind]]


def vector_bytes(length: int) -> int:
    """Bytes of an f32 tensor in the image."""
    return align(4 * length)


def padded_inputs(columns: int) -> int:
    """K of the shortest packs: inputs rounded up to two groups."""
    return -(-columns // (2 * GROUP)) * 2 * GROUP


def align(size: int) -> int:
    """`size` rounded up to a cache line."""
    return -(-size // IMAGE_ALIGN) * IMAGE_ALIGN
