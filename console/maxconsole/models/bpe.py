# SPDX-License-Identifier: Apache-2.0
"""Byte-level byte-pair encoding as GPT-2 has it, by the package `tokenizers`, from a GGUF file's own metadata."""

from __future__ import annotations

from functools import cache
from typing import Final

from gguf.constants import TokenType
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from maxconsole.errors import UserError
from maxconsole.models.metadata import Metadata
from maxconsole.models.pretokenizers import PreTokenizer, find_pre_tokenizer
from maxconsole.models.vocabulary import Vocabulary

#: stands for a byte that the vocabulary lacks; no text can spell it, byte-level characters end below U+0144
_MISSING: Final = "\U0010ffff"


class BytePairCodec:
    """Text to tokens and tokens to bytes, for vocabularies of the kind "gpt2"."""

    def __init__(self, meta: Metadata, vocabulary: Vocabulary) -> None:
        """Raises UserError for an unknown pre-tokenizer, and for merges that do not fit the vocabulary."""
        self._vocabulary = vocabulary
        name = meta.text("tokenizer.ggml.pre", default="default")
        self.pre = find_pre_tokenizer(name, meta.path)
        self._missing = len(vocabulary.texts)
        self._tokenizer = self._build(meta, self.pre)

    def encode(self, text: str, *, after_mark: bool) -> list[int]:
        """Tokens of ordinary text; a byte that the vocabulary has no token for is left out, as llama.cpp does."""
        del after_mark  # matters to sentencepiece only
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return [token for token in ids if token != self._missing]

    def token_bytes(self, token: int) -> bytes:
        """The bytes of UTF-8 that a token stands for, perhaps a part of a character."""
        text = self._vocabulary.texts[token]
        if self._vocabulary.is_kind(token, TokenType.NORMAL, TokenType.UNUSED):
            table = _byte_of_character()
            return b"".join(table.get(character) or character.encode() for character in text)
        return text.encode()

    def _build(self, meta: Metadata, pre: PreTokenizer) -> Tokenizer:
        texts = self._vocabulary.mergeable()
        merges = [_split_merge(line) for line in meta.texts("tokenizer.ggml.merges")]
        for index, (first, second) in enumerate(merges):
            # The package panics on some of these, and a panic is no exception that could be caught and shown.
            if first not in texts or second not in texts or first + second not in texts:
                raise UserError(
                    f"{meta.path}: tokenizer.ggml.merges[{index}] joins what are no tokens", hint="the file is damaged"
                )
        model = models.BPE(
            {**texts, _MISSING: self._missing}, merges, unk_token=_MISSING, ignore_merges=pre.whole_words
        )
        tokenizer = Tokenizer(model)
        cuts = [pre_tokenizers.Split(Regex(expression), "isolated") for expression in pre.expressions]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
        return tokenizer


def _split_merge(line: str) -> tuple[str, str]:
    """Two token texts with a space between them; the first may itself be a space."""
    at = line.find(" ", 1)
    return (line[:at], line[at + 1 :]) if at > 0 else (line, "")


@cache
def _byte_of_character() -> dict[str, bytes]:
    """GPT-2's printable stand-ins: bytes that print as themselves, the others as characters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): bytes([byte]) for byte in printable}
    return table | {chr(0x100 + index): bytes([byte]) for index, byte in enumerate(others)}
