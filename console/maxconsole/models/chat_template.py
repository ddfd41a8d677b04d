# SPDX-License-Identifier: Apache-2.0
"""Renders a conversation by the chat template of a model file, and tells the template's words from the user's."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from maxconsole.errors import UserError
from maxconsole.models.metadata import Metadata
from maxconsole.models.tokenizer import Span
from maxconsole.models.vocabulary import Vocabulary

Role = Literal["system", "user", "assistant"]

_WORKER: Final = Path(__file__).with_name("template_worker.py")
_SOURCE_MAX: Final = 1 << 20  # characters of a template
_OUTPUT_MAX: Final = 1 << 23
_CPU_S: Final = 2
_WALL_S: Final = 20
_MEMORY_BYTES: Final = 1 << 29


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A conversation as text. `template`: the ranges that the template wrote; the rest are messages."""

    text: str
    template: tuple[Span, ...]

    def after(self, start: int) -> Rendered:
        """What comes from character `start` on."""
        spans = ((max(low - start, 0), high - start) for low, high in self.template if high > start)
        return Rendered(self.text[start:], tuple(spans))


class ChatTemplate:
    """The chat template of one model file."""

    def __init__(self, meta: Metadata, vocabulary: Vocabulary) -> None:
        """Raises UserError where the file has none, or one that is larger than any template is."""
        self._path = meta.path
        if "tokenizer.chat_template" not in meta:
            raise UserError(
                f"{meta.path} has no chat template", hint="it is a base model, which continues text: give a raw prompt"
            )
        self._source = meta.text("tokenizer.chat_template")
        if len(self._source) > _SOURCE_MAX:
            raise UserError(f"{meta.path}: the chat template is longer than {_SOURCE_MAX} characters")
        special = vocabulary.special
        self._variables = {
            "bos_token": "" if special.bos is None else vocabulary.texts[special.bos],
            "eos_token": "" if special.eos is None else vocabulary.texts[special.eos],
            "tools": None,
            "documents": None,
        }
        self._marks = [mark for mark, _ in vocabulary.marks()]

    def render(self, messages: Sequence[Message], *, generation: bool = True, now: datetime | None = None) -> Rendered:
        """The conversation as text; with `generation`, up to where the assistant begins to speak.

        Raises UserError, with the template's line, for a template that is broken, refuses the messages (say a system
        message), never ends, or hides in a message what looks like a special token.
        """
        key = secrets.token_hex(8)
        holders = [f"\ue000{key}.{index}\ue001" if message.content else "" for index, message in enumerate(messages)]
        real = [{"role": message.role, "content": message.content} for message in messages]
        held = [{"role": one.role, "content": holder} for one, holder in zip(messages, holders, strict=True)]
        text, outline = self._run([real, held], generation, now or datetime.now())
        contents = [message.content for message in messages]
        spans = _align(text, re.split(f"\ue000{key}\\.([0-9]+)\ue001", outline), contents)
        if spans is None:
            self._refuse_hidden_marks(contents)
            spans = ((0, len(text)),)
        return Rendered(text, spans)

    def _run(self, conversations: list[list[dict[str, str]]], generation: bool, now: datetime) -> list[str]:
        request = {
            "template": self._source,
            "conversations": conversations,
            "variables": {**self._variables, "add_generation_prompt": generation},
            "now": now.isoformat(),
            "output_max": _OUTPUT_MAX,
            "cpu_s": _CPU_S,
            "memory_bytes": _MEMORY_BYTES,
        }
        try:
            done = subprocess.run(
                [sys.executable, "-P", str(_WORKER)],
                input=json.dumps(request).encode(),
                capture_output=True,
                timeout=_WALL_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise self._error(f"it runs longer than {_WALL_S} seconds") from error
        try:
            answer = json.loads(done.stdout)
        except ValueError as error:
            # Killed by a limit, or by what the template drove the interpreter to.
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            problem = f"it runs longer than {_CPU_S} seconds" if done.returncode < 0 else f"it fails: {last}"
            raise self._error(problem) from error
        if "error" in answer:
            raise self._error(answer["error"], answer["line"])
        texts: list[str] = answer["texts"]
        return texts

    def _error(self, problem: str, line: int = 0) -> UserError:
        where = f", line {line}" if line else ""
        return UserError(
            f"{self._path}: the chat template{where}: {problem}",
            hint="the template is part of the model file; a raw prompt does without it",
        )

    def _refuse_hidden_marks(self, contents: list[str]) -> None:
        """The template rewrote the messages, so that its own words and theirs cannot be told apart."""
        for content in contents:
            for mark in self._marks:
                if mark in content:
                    raise self._error(f"it changes the messages, and one of them holds the special token {mark!r}")


def _align(text: str, outline: list[str], contents: list[str]) -> tuple[Span, ...] | None:
    """The ranges of `text` that are the template's.

    outline: the template's words at even places, between them the numbers of the messages that stand there. None where
    `text` is not those words with the messages, or the messages without space around them, in between.
    """
    spans: list[Span] = []
    at = 0
    for place in range(0, len(outline), 2):
        literal = outline[place]
        if not text.startswith(literal, at):
            return None
        spans.append((at, at + len(literal)))
        at += len(literal)
        if place + 1 < len(outline):
            following = outline[place + 2]
            forms = written_forms(contents[int(outline[place + 1])])
            fitting = [form for form in forms if text.startswith(form + following, at)]
            if not fitting:
                return None
            at += len(fitting[0])
    return tuple(spans) if at == len(text) else None


def written_forms(content: str) -> tuple[str, ...]:
    """How templates write a message: as it is, or trimmed; the longest first."""
    forms = (content, content.lstrip(), content.rstrip(), content.strip())
    return tuple(sorted(dict.fromkeys(forms), key=len, reverse=True))
