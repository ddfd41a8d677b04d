# SPDX-License-Identifier: Apache-2.0
"""A model file with everything that the console needs of it; parts that take time are made when first asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from maxconsole.boards.facts import ModelFacts
from maxconsole.models import cache
from maxconsole.models.chat import Conversation, Turn, raw_prompt
from maxconsole.models.chat_template import ChatTemplate
from maxconsole.models.facts import model_facts
from maxconsole.models.image import WeightImage
from maxconsole.models.image_writer import Progress
from maxconsole.models.layout import ImageLayout, lay_out
from maxconsole.models.reader import GgufFile, open_gguf
from maxconsole.models.tokenizer import Tokenizer, build_tokenizer


class Model:
    """An open model file."""

    def __init__(self, file: GgufFile) -> None:
        self.file = file
        self.layout: ImageLayout = lay_out(file)

    @classmethod
    def open(cls, path: Path) -> Model:
        """Raises UserError for a file that is damaged or a model that is not supported."""
        return cls(open_gguf(path))

    @property
    def name(self) -> str:
        return self.layout.shapes.name

    @property
    def facts(self) -> ModelFacts:
        """What the memory planner must know."""
        return model_facts(self.layout)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """0.3 s for 49152 tokens. Raises UserError for a tokenizer that is not supported."""
        return build_tokenizer(self.file.metadata)

    @cached_property
    def template(self) -> ChatTemplate:
        """Raises UserError where the file has no chat template."""
        return ChatTemplate(self.file.metadata, self.tokenizer.vocabulary)

    def image(self, progress: Progress | None = None) -> WeightImage:
        """The packed weights, from the cache or packed now (`cache.weight_image`)."""
        return cache.weight_image(self.file, self.layout, progress)

    def conversation(self, system: str | None = None) -> Conversation:
        """A new conversation; system: None leaves the system message to the template."""
        return Conversation(self.tokenizer, self.template, system)

    def raw(self, text: str) -> Turn:
        """A prompt without template."""
        return raw_prompt(self.tokenizer, text)
