# SPDX-License-Identifier: Apache-2.0
"""How text is cut into words before byte-pair merging, by the name that GGUF files give it (tokenizer.ggml.pre).

The expressions are those of the models' own tokenizer.json files. Each cuts what the one before it left: matches and
the text between them become pieces of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from maxconsole.errors import UserError


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """`whole_words`: a word that is a token is taken as it is, without looking at the merges.

    `add_bos` is what holds where the file says nothing.
    """

    expressions: tuple[str, ...]
    whole_words: bool = False
    add_bos: bool = False


_CONTRACTIONS: Final = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_TAIL: Final = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3: Final = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _TAIL
_QWEN2: Final = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _TAIL
_UPPER: Final = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER: Final = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_TEKKEN: Final = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*|\p{{N}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_PLAIN: Final = PreTokenizer((_GPT2,))
_DIGITS: Final = PreTokenizer((r"\p{N}", _GPT2))
_THREE_DIGITS: Final = PreTokenizer((_LLAMA3,), whole_words=True, add_bos=True)
_SINGLE_DIGITS: Final = PreTokenizer((_QWEN2,))
_DEFAULT: Final = PreTokenizer((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))

PRE_TOKENIZERS: Final[Mapping[str, PreTokenizer]] = {
    "default": _DEFAULT,
    "gpt-2": _PLAIN,
    "mpt": _PLAIN,
    "olmo": _PLAIN,
    "phi-2": _PLAIN,
    "smollm": _DIGITS,
    "starcoder": _DIGITS,
    "refact": _DIGITS,
    "command-r": _DIGITS,
    "llama-bpe": _THREE_DIGITS,
    "llama3": _THREE_DIGITS,
    "llama-v3": _THREE_DIGITS,
    "falcon3": _THREE_DIGITS,
    "smaug-bpe": PreTokenizer((_LLAMA3,)),
    "dbrx": PreTokenizer((_LLAMA3,)),
    "qwen2": _SINGLE_DIGITS,
    "deepseek-r1-qwen": _SINGLE_DIGITS,
    "megrez": _SINGLE_DIGITS,
    "stablelm2": _SINGLE_DIGITS,
    "falcon": PreTokenizer((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")),
    "deepseek-coder": PreTokenizer(
        (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}")
    ),
    "tekken": PreTokenizer((_TEKKEN,), whole_words=True, add_bos=True),
}


def find_pre_tokenizer(name: str, path: object) -> PreTokenizer:
    """Raises UserError that names the pre-tokenizer where it is not known: a guess would spoil every answer."""
    if name not in PRE_TOKENIZERS:
        raise UserError(
            f"{path}: the pre-tokenizer {name!r} is not supported",
            hint=f"supported: {', '.join(sorted(PRE_TOKENIZERS))}",
        )
    return PRE_TOKENIZERS[name]
