# SPDX-License-Identifier: Apache-2.0
"""The text of tokens without their model."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard
from gguf_files import TOKENS, write_model
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.errors import UserError
from maxconsole.models.model import Model
from maxconsole.models.pieces import TokenPieces


@given(st.lists(st.binary(max_size=40)), st.booleans())
def test_pieces_come_back_as_they_were(pieces: list[bytes], space_prefix: bool) -> None:
    packed = TokenPieces(tuple(pieces), space_prefix)
    assert TokenPieces.unpack(packed.pack()) == packed


def test_a_models_pieces_give_the_models_text(tmp_path: Path) -> None:
    tokenizer = Model.open(write_model(tmp_path / "tiny.gguf")).tokenizer
    pieces = TokenPieces.of(tokenizer)
    tokens = tokenizer.encode("hello wörld")
    own, other = tokenizer.stream(), pieces.stream()
    assert [other.feed(token) for token in tokens] == [own.feed(token) for token in tokens]
    assert pieces.token_bytes(0) == b""
    with pytest.raises(UserError, match="not in the recorded vocabulary"):
        pieces.token_bytes(len(TOKENS))


@given(st.binary(max_size=100))
def test_anything_else_is_refused(data: bytes) -> None:
    for packed in (data, zstandard.compress(data)):
        try:
            TokenPieces.unpack(packed)
        except ValueError:
            continue


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(ValueError, match="no vocabulary is that large"):
        TokenPieces.unpack(zstandard.compress(bytes(20 << 20)))
