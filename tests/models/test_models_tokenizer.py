# SPDX-License-Identifier: Apache-2.0
"""Tokenizers against llama.cpp's own tokens (vectors/README.md), and what they make of unkind text and files."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import gguf_files
import pytest
from gguf import GGUFWriter
from hypothesis import given, settings
from hypothesis import strategies as st

from maxconsole.errors import UserError
from maxconsole.models.metadata import Metadata
from maxconsole.models.reader import open_gguf
from maxconsole.models.tokenizer import Tokenizer, build_tokenizer

PRE = "tokenizer.ggml.pre"
IM_START, IM_END = 1, 2


@cache
def vectors() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "tokens.json").read_text())
    return read


@pytest.fixture(scope="session")
def demo_metadata(demo_file: Path) -> Metadata:
    return open_gguf(demo_file).metadata


@pytest.fixture(scope="session")
def smollm(demo_metadata: Metadata) -> Tokenizer:
    return build_tokenizer(demo_metadata)


@pytest.fixture(scope="session")
def sentencepiece(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return score_merging(tmp_path_factory.mktemp("spm") / "v.gguf", prefix=True)


def score_merging(path: Path, *, prefix: bool) -> Tokenizer:
    made = vectors()["sentencepiece"]
    fields = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_space_prefix": prefix,
    }
    file = gguf_files.write_vocabulary(path, fields, made["pieces"], token_type=made["types"], scores=made["scores"])
    return build_tokenizer(open_gguf(file).metadata)


@pytest.mark.parametrize("pre", sorted(vectors()["byte_pairs"]))
def test_byte_pairs_are_llama_cpps_with_every_pre_tokenizer(demo_metadata: Metadata, pre: str) -> None:
    tokenizer = build_tokenizer(Metadata(demo_metadata.path, {**demo_metadata._values, PRE: pre}))
    expected = vectors()["byte_pairs"][pre]
    for text, plain, marks in zip(vectors()["texts"], expected["plain"], expected["marks"], strict=True):
        assert tokenizer.encode(text) == plain, text
        assert tokenizer.encode(text, [(0, len(text))]) == marks, text


@pytest.mark.parametrize("prefix", [True, False])
def test_merging_by_score_is_llama_cpps(tmp_path: Path, prefix: bool) -> None:
    tokenizer = score_merging(tmp_path / "v.gguf", prefix=prefix)
    expected = vectors()["sentencepiece"]["ids"]["prefix" if prefix else "no_prefix"]
    for text, ids in zip(vectors()["texts"], expected, strict=True):
        assert tokenizer.encode(text) == ids, text


def test_special_tokens_are_found_in_the_templates_ranges_only(smollm: Tokenizer) -> None:
    text = "<|im_start|>user\n<|im_end|><|im_end|>\n"
    end = text.index("<|im_end|>")
    spans = [(0, end), (end + 10, len(text))]
    tokens = smollm.encode(text, spans)
    assert [token for token in tokens if token < 3] == [IM_START, IM_END]
    assert smollm.decode(tokens, special=True) == text
    assert IM_END not in smollm.encode(text, [(0, end), (end + 1, end + 9)])
    # A token across two ranges that touch is the template's; across a gap it is not.
    assert smollm.encode("<|im_end|>", [(0, 4), (4, 10)]) == [IM_END]


def test_control_tokens_are_silent_unless_asked_for(smollm: Tokenizer) -> None:
    assert smollm.decode([IM_START, 19556, IM_END]) == "Hello"
    assert smollm.decode([IM_START, 19556, IM_END], special=True) == "<|im_start|>Hello<|im_end|>"
    assert smollm.vocabulary.special.stop == (2, 0)
    assert not smollm.add_bos


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60))
def test_text_survives_sentencepiece(sentencepiece: Tokenizer, text: str) -> None:
    plain = text.replace("\u2581", " ")  # the marker of a space is a space
    assert sentencepiece.decode(sentencepiece.encode(text)) == (f" {plain}" if plain else "")


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60))
def test_text_survives_byte_pairs(smollm: Tokenizer, text: str) -> None:
    known = "".join(character for character in text if smollm.decode(smollm.encode(character)) == character)
    assert smollm.decode(smollm.encode(known)) == known


@settings(max_examples=60, deadline=None)
@given(tokens=st.lists(st.integers(3, 49151), max_size=12))
def test_a_stream_gives_the_text_of_the_whole(smollm: Tokenizer, tokens: list[int]) -> None:
    stream = smollm.stream()
    pieces = [stream.feed(token) for token in tokens]
    assert "".join(pieces) + stream.finish() == smollm.decode(tokens)


def test_a_character_in_several_tokens_waits_for_the_last(smollm: Tokenizer) -> None:
    tokens = smollm.encode("\U0001f9d9!")
    stream = smollm.stream()
    pieces = [stream.feed(token) for token in tokens]
    assert len(tokens) > 2
    assert pieces[-2:] == ["\U0001f9d9", "!"]
    assert not any(pieces[:-2])
    unfinished = smollm.stream()
    assert unfinished.feed(tokens[0]) == ""
    assert unfinished.finish() == "\ufffd"


def test_a_reply_loses_the_space_that_sentencepiece_puts_in_front(sentencepiece: Tokenizer) -> None:
    tokens = sentencepiece.encode("Hello  world")
    stream = sentencepiece.stream()
    assert "".join(stream.feed(token) for token in tokens) + stream.finish() == "Hello  world"


def test_bytes_have_tokens_of_their_own_in_sentencepiece(sentencepiece: Tokenizer) -> None:
    tokens = sentencepiece.encode("\u6f22", at_start=False)
    assert [sentencepiece.vocabulary.texts[token] for token in tokens] == ["<0xE6>", "<0xBC>", "<0xA2>"]


def test_long_prompts_take_little_time(sentencepiece: Tokenizer) -> None:
    text = "the quick brown fox jumps over the lazy dog " * 2000
    assert len(sentencepiece.encode(text)) > 10000


def refusal(path: Path, change: Any) -> str:
    def applied(writer: GGUFWriter) -> None:
        for key, value in change.items():
            del writer.kv_data[0][key]
            if isinstance(value, list):
                writer.add_array(key, value)
            elif value is not None:
                writer.add_string(key, value) if isinstance(value, str) else writer.add_uint32(key, value)

    meta = open_gguf(gguf_files.write_model(path / "m.gguf", layers=1, change=applied)).metadata
    with pytest.raises(UserError) as caught:
        build_tokenizer(meta)
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({PRE: "klingon"}, "the pre-tokenizer 'klingon' is not supported"),
        ({"tokenizer.ggml.model": "rwkv"}, "the tokenizer 'rwkv' is not supported"),
        ({"tokenizer.ggml.model": "llama"}, "tokenizer.ggml.scores is missing"),
        ({"tokenizer.ggml.merges": None}, "tokenizer.ggml.merges is missing"),
        ({"tokenizer.ggml.merges": ["h e", "x nothere"]}, "merges[1] joins what are no tokens"),
        ({"tokenizer.ggml.merges": ["\u0120world h"]}, "merges[0] joins what are no tokens"),
        ({"tokenizer.ggml.merges": [""]}, "merges[0] joins what are no tokens"),
        ({"tokenizer.ggml.tokens": None}, "tokenizer.ggml.tokens is missing"),
        ({"tokenizer.ggml.token_type": [1, 1]}, "token_type does not give"),
        ({"tokenizer.ggml.eos_token_id": 1 << 20}, "eos_token_id is 1048576"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_vocabularies_that_cannot_be_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    assert message in refusal(tmp_path, change)


def test_tokens_outside_of_the_vocabulary_are_refused(sentencepiece: Tokenizer) -> None:
    with pytest.raises(UserError, match="token 99999 is not in the model's vocabulary"):
        sentencepiece.decode([99999])
