# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of a model file: the text and the kind of each token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gguf.constants import TokenType

from maxconsole.errors import UserError
from maxconsole.models.metadata import Metadata
from maxconsole.models.special_tokens import SpecialTokens, read_special_tokens

_PREFIX = "tokenizer.ggml."


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Token texts as the file stores them, and their kinds, by token id."""

    texts: tuple[str, ...]
    kinds: npt.NDArray[np.uint8]  # values of gguf's TokenType
    special: SpecialTokens

    def is_kind(self, token: int, *kinds: TokenType) -> bool:
        return int(self.kinds[token]) in kinds

    def ids(self, *kinds: TokenType) -> list[int]:
        """All tokens of these kinds, ascending."""
        found: list[int] = np.flatnonzero(np.isin(self.kinds, kinds)).tolist()
        return found

    def marks(self) -> tuple[tuple[str, int], ...]:
        """Tokens that stand in text as a whole (control, unknown, user-defined), longest first."""
        listed = self.ids(TokenType.CONTROL, TokenType.UNKNOWN, TokenType.USER_DEFINED)
        texts = [(self.texts[token], token) for token in listed if self.texts[token]]
        return tuple(sorted(texts, key=lambda mark: -len(mark[0].encode())))

    def mergeable(self) -> dict[str, int]:
        """Text to id of the tokens that ordinary text may become; a text that occurs twice means its first token."""
        excluded = {int(TokenType.CONTROL), int(TokenType.UNKNOWN), int(TokenType.BYTE)}
        kinds: list[int] = self.kinds.tolist()
        found: dict[str, int] = {}
        for token, (text, kind) in enumerate(zip(self.texts, kinds, strict=True)):
            if kind not in excluded:
                found.setdefault(text, token)
        return found


def read_vocabulary(meta: Metadata) -> Vocabulary:
    """Raises UserError where the file has no vocabulary or one that contradicts itself."""
    texts = tuple(meta.texts(f"{_PREFIX}tokens"))
    if not texts:
        raise UserError(f"{meta.path}: the vocabulary is empty")
    kinds = np.full(len(texts), TokenType.NORMAL, np.uint8)
    if f"{_PREFIX}token_type" in meta:
        stored = meta.numbers(f"{_PREFIX}token_type")
        known = [int(kind) for kind in TokenType]
        if stored.shape != kinds.shape or not np.isin(stored, known).all():
            raise UserError(f"{meta.path}: {_PREFIX}token_type does not give a known kind for each token")
        kinds = stored.astype(np.uint8)
    return Vocabulary(texts, kinds, read_special_tokens(meta))


def read_scores(meta: Metadata, count: int) -> npt.NDArray[np.float32]:
    """The merge scores of a sentencepiece vocabulary. Raises UserError unless there is one for each token."""
    scores = meta.numbers(f"{_PREFIX}scores")
    if scores.shape != (count,) or not np.isfinite(scores.astype(np.float64)).all():
        raise UserError(f"{meta.path}: {_PREFIX}scores does not give a number for each token")
    return scores.astype(np.float32)
