# SPDX-License-Identifier: Apache-2.0
"""The text of a model's tokens without the model: what a recording needs to be read without the GGUF file."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import zstandard

from maxconsole.errors import UserError
from maxconsole.models.tokenizer import Detokenizer, Tokenizer

#: Number of tokens, and whether a reply's first space is taken off. The lengths follow, then all bytes.
_HEAD: Final = struct.Struct("<II")
_LENGTH: Final = np.dtype("<u2")
#: What claims to be larger is damaged, or bait: the largest vocabularies have 256 Ki tokens of some 8 bytes.
_UNPACKED_MAX: Final = 16 << 20
_LEVEL: Final = 12  # a tenth of a second for 49152 tokens


@dataclass(frozen=True, slots=True)
class TokenPieces:
    """The bytes of every token, by its id; none for control tokens."""

    pieces: Sequence[bytes]
    space_prefix: bool  # see Tokenizer

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> TokenPieces:
        """Those of `tokenizer`."""
        count = len(tokenizer.vocabulary.texts)
        return cls(tuple(map(tokenizer.token_bytes, range(count))), tokenizer.space_prefix)

    @classmethod
    def unpack(cls, packed: bytes) -> TokenPieces:
        """What `pack` has made. Raises ValueError for anything else."""
        try:
            if not 0 <= zstandard.frame_content_size(packed) <= _UNPACKED_MAX:
                raise ValueError("no vocabulary is that large")
            data = zstandard.decompress(packed)
            count, space_prefix = _HEAD.unpack_from(data)
            lengths = np.frombuffer(data, _LENGTH, count, _HEAD.size)
        except (zstandard.ZstdError, struct.error) as error:
            raise ValueError("this is not a vocabulary") from error
        ends = (_HEAD.size + lengths.nbytes + np.cumsum(lengths, dtype=np.int64)).tolist()
        starts = [_HEAD.size + lengths.nbytes, *ends]
        if starts[-1] != len(data):
            raise ValueError("a vocabulary that contradicts itself")
        return cls(tuple(data[start:end] for start, end in zip(starts, ends, strict=False)), bool(space_prefix))

    def pack(self) -> bytes:
        """Compressed, a few bytes for each token."""
        lengths = np.array([len(piece) for piece in self.pieces], _LENGTH)
        head = _HEAD.pack(len(self.pieces), self.space_prefix)
        return zstandard.compress(head + lengths.tobytes() + b"".join(self.pieces), _LEVEL)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of a token. Raises UserError for an id that is not in the vocabulary."""
        if not 0 <= token < len(self.pieces):
            raise UserError(f"token {token} is not in the recorded vocabulary of {len(self.pieces)}")
        return self.pieces[token]

    def stream(self) -> Detokenizer:
        """A reply's text as its tokens come."""
        return Detokenizer(self)
