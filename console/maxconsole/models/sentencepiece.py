# SPDX-License-Identifier: Apache-2.0
"""Sentencepiece's byte-pair encoding by score: of all neighbors that form a token, the best-scored join first.

Ties go to the leftmost. Characters without a token become byte tokens. This is what llama.cpp does for vocabularies of
the kind "llama"; the package `tokenizers` has no model that merges by score.
"""

from __future__ import annotations

import heapq
import re
from typing import Final

from gguf.constants import TokenType

from maxconsole.errors import UserError
from maxconsole.models.metadata import Metadata
from maxconsole.models.vocabulary import Vocabulary, read_scores

_SPACE: Final = "\u2581"
_BYTE: Final = re.compile("<0x([0-9A-Fa-f]{2})>")


class ScoreMergeCodec:
    """Text to tokens and tokens to bytes, for vocabularies of the kind "llama"."""

    def __init__(self, meta: Metadata, vocabulary: Vocabulary) -> None:
        """Raises UserError where scores are missing, or there is no token for a byte and none for the unknown."""
        self._vocabulary = vocabulary
        self._ids = vocabulary.mergeable()
        scores: list[float] = read_scores(meta, len(vocabulary.texts)).tolist()
        self._ranks = {text: -scores[token] for text, token in self._ids.items()}
        self.space_prefix = meta.flag("tokenizer.ggml.add_space_prefix", default=True)
        self._bytes = self._byte_tokens()
        if len(self._bytes) < 256 and vocabulary.special.unknown is None:
            raise UserError(f"{meta.path}: the vocabulary has no tokens for single bytes and none for unknown text")

    def encode(self, text: str, *, after_mark: bool) -> list[int]:
        """Tokens of ordinary text. Text at the start, or after a special token, gets a space in front of it where the
        file asks for that."""
        prefix = _SPACE if self.space_prefix and after_mark else ""
        tokens: list[int] = []
        for piece in self._merge(prefix + text.replace(" ", _SPACE)):
            token = self._ids.get(piece)
            if token is not None:
                tokens.append(token)
            else:
                tokens += [self._byte_token(byte) for byte in piece.encode()]
        return tokens

    def token_bytes(self, token: int) -> bytes:
        """The bytes of UTF-8 that a token stands for, perhaps a part of a character."""
        text = self._vocabulary.texts[token]
        if self._vocabulary.is_kind(token, TokenType.BYTE):
            match = _BYTE.fullmatch(text)
            return bytes([int(match[1], 16)]) if match else text.encode()
        if self._vocabulary.is_kind(token, TokenType.UNKNOWN):
            return "\ufffd".encode()
        return text.replace(_SPACE, " ").encode()

    def _merge(self, text: str) -> list[str]:
        """The pieces that are left when no two neighbors form a token any more."""
        pieces = list(text)
        following = [*range(1, len(pieces)), -1]
        before = list(range(-1, len(pieces) - 1))
        queue: list[tuple[float, int, int]] = []  # rank, left piece, length of both: a stale entry has another length

        def offer(left: int) -> None:
            right = following[left]
            if right >= 0:
                joined = pieces[left] + pieces[right]
                rank = self._ranks.get(joined)
                if rank is not None:
                    heapq.heappush(queue, (rank, left, len(joined)))

        for left in range(len(pieces) - 1):
            offer(left)
        while queue:
            _, left, length = heapq.heappop(queue)
            right = following[left]
            if not pieces[left] or right < 0 or len(pieces[left]) + len(pieces[right]) != length:
                continue
            pieces[left] += pieces[right]
            pieces[right] = ""
            following[left] = following[right]
            if following[right] >= 0:
                before[following[right]] = left
            if before[left] >= 0:
                offer(before[left])
            offer(left)
        return [piece for piece in pieces if piece]

    def _byte_tokens(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for token in self._vocabulary.ids(TokenType.BYTE):
            match = _BYTE.fullmatch(self._vocabulary.texts[token])
            if match:
                found.setdefault(int(match[1], 16), token)
        return found

    def _byte_token(self, byte: int) -> int:
        token = self._bytes.get(byte, self._vocabulary.special.unknown)
        assert token is not None  # checked when the vocabulary was read
        return token
