# SPDX-License-Identifier: Apache-2.0
"""The tokens with a meaning of their own: begin, end of text, end of turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from maxconsole.models.metadata import Metadata
from maxconsole.schema.image import EOS_MAX

#: End markers by their text: files often name only one of several that their chat template uses.
_END_TEXTS: Final = frozenset(
    {
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|end|>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<end_of_turn>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<EOT>",
    }
)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """`stop` ends a reply whichever of them comes; the file's own end-of-text token is the first."""

    bos: int | None
    eos: int | None
    stop: tuple[int, ...]
    unknown: int | None


def read_special_tokens(meta: Metadata) -> SpecialTokens:
    """Raises UserError for an id outside of the vocabulary."""
    tokens = meta.texts("tokenizer.ggml.tokens")

    def one(name: str) -> int | None:
        key = f"tokenizer.ggml.{name}_token_id"
        return meta.integer(key, 0, len(tokens) - 1) if key in meta else None

    eos = one("eos")
    stop = [token for token in (eos, one("eot"), one("eom")) if token is not None]
    stop += [token for token, text in enumerate(tokens) if text in _END_TEXTS]
    unique = tuple(dict.fromkeys(stop))
    return SpecialTokens(one("bos"), eos, unique[:EOS_MAX], one("unknown"))
