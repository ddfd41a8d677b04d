# SPDX-License-Identifier: Apache-2.0
"""A model's tokenizer, built from its file alone.

Special tokens (control, unknown) are recognized only within the ranges of the text that the caller says are the
template's own: what a user types, say "<|im_end|>", is ordinary text.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from gguf.constants import TokenType

from maxconsole.errors import UserError
from maxconsole.models.bpe import BytePairCodec
from maxconsole.models.metadata import Metadata
from maxconsole.models.sentencepiece import ScoreMergeCodec
from maxconsole.models.vocabulary import Vocabulary, read_vocabulary

#: a range of characters of a text, [start, end)
Span = tuple[int, int]

#: start and end in a text, and the token that it stands for as a whole
_Piece = tuple[int, int, int | None]

_BPE: Final = "gpt2"
_SENTENCEPIECE: Final = "llama"


class _Codec(Protocol):
    def encode(self, text: str, *, after_mark: bool) -> list[int]: ...

    def token_bytes(self, token: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Text to token ids and back. `add_bos`: a prompt begins with the token `vocabulary.special.bos`."""

    vocabulary: Vocabulary
    add_bos: bool
    space_prefix: bool  # sentencepiece: text at the start is given a space, which is taken off a reply again
    _codec: _Codec

    def encode(self, text: str, template: Sequence[Span] = (), *, at_start: bool = True) -> list[int]:
        """Tokens of `text`, without a begin token.

        template: ranges of `text` in which special tokens are recognized, ascending and apart.
        at_start: whether the text starts a prompt or follows a special token (sentencepiece puts a space there).
        """
        tokens: list[int] = []
        after_mark = at_start
        for piece in self._split(text, template):
            if isinstance(piece, int):
                tokens.append(piece)
                after_mark = True
            else:
                tokens += self._codec.encode(piece, after_mark=after_mark)
                after_mark = False
        return tokens

    def decode(self, tokens: Iterable[int], *, special: bool = False) -> str:
        """The text of `tokens`; control tokens show only where `special` is set. No space is taken off the front."""
        data = b"".join(self.token_bytes(token, special=special) for token in tokens)
        return data.decode(errors="replace")

    def token_bytes(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of a token. Raises UserError for an id that is not in the vocabulary."""
        if not 0 <= token < len(self.vocabulary.texts):
            raise UserError(f"token {token} is not in the model's vocabulary of {len(self.vocabulary.texts)}")
        if self.vocabulary.is_kind(token, TokenType.CONTROL):
            return self.vocabulary.texts[token].encode() if special else b""
        return self._codec.token_bytes(token)

    def stream(self) -> Detokenizer:
        """A reply's text as its tokens come."""
        return Detokenizer(self)

    def _split(self, text: str, template: Sequence[Span]) -> list[str | int]:
        """Cuts out the tokens that stand for themselves, the longest text first wherever it occurs."""
        pieces: list[_Piece] = [(0, len(text), None)]
        allowed = _joined(template)
        for mark, token in self.vocabulary.marks():
            if mark not in text:
                continue
            spans = [(0, len(text))] if self.vocabulary.is_kind(token, TokenType.USER_DEFINED) else allowed
            pieces = [part for piece in pieces for part in _cut(text, piece, mark, token, spans)]
        return [text[start:end] if token is None else token for start, end, token in pieces if end > start]


class TokenTexts(Protocol):
    """What it takes to turn tokens into text."""

    @property
    def space_prefix(self) -> bool: ...

    def token_bytes(self, token: int, /) -> bytes: ...


class Detokenizer:
    """Turns tokens into text one by one; bytes of an unfinished character wait for the next token."""

    def __init__(self, tokenizer: TokenTexts) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._strip = tokenizer.space_prefix

    def feed(self, token: int) -> str:
        """The text that `token` completes, perhaps none."""
        data = self._tokenizer.token_bytes(token)
        if self._strip and data:
            data = data.removeprefix(b" ")
            self._strip = False
        return self._decoder.decode(data)

    def finish(self) -> str:
        """What is left: U+FFFD for a character that never ended."""
        return self._decoder.decode(b"", final=True)


def build_tokenizer(meta: Metadata) -> Tokenizer:
    """Raises UserError for a tokenizer or pre-tokenizer that is not supported, and for a damaged vocabulary."""
    kind = meta.text("tokenizer.ggml.model")
    vocabulary = read_vocabulary(meta)
    codec: _Codec
    if kind == _BPE:
        codec = byte_pairs = BytePairCodec(meta, vocabulary)
        add_bos, space_prefix = byte_pairs.pre.add_bos, False
    elif kind == _SENTENCEPIECE:
        codec = score_merges = ScoreMergeCodec(meta, vocabulary)
        add_bos, space_prefix = True, score_merges.space_prefix
    else:
        raise UserError(
            f"{meta.path}: the tokenizer {kind!r} is not supported", hint=f"supported: {_BPE}, {_SENTENCEPIECE}"
        )
    add_bos = meta.flag("tokenizer.ggml.add_bos_token", default=add_bos)
    return Tokenizer(vocabulary, add_bos and vocabulary.special.bos is not None, space_prefix, codec)


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Ranges that touch become one."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] >= start:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _cut(text: str, piece: _Piece, mark: str, token: int, spans: list[Span]) -> list[_Piece]:
    """`piece` of `text` cut at each occurrence of `mark` within one of `spans`."""
    start, end, known = piece
    if known is not None:
        return [piece]
    parts: list[_Piece] = []
    at = text.find(mark, start, end)
    while at >= 0:
        stop = at + len(mark)
        if any(low <= at and stop <= high for low, high in spans):
            parts += [(start, at, None), (at, stop, token)]
            start = stop
            at = text.find(mark, stop, end)
        else:
            at = text.find(mark, at + 1, end)
    return [*parts, (start, end, None)]
