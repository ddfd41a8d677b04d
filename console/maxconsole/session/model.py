# SPDX-License-Identifier: Apache-2.0
"""A model file, and what a session takes out of it as it is needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from maxconsole.boards import ModelFacts
from maxconsole.errors import UserError
from maxconsole.models.cache import weight_image
from maxconsole.models.chat import Conversation
from maxconsole.models.chat_template import ChatTemplate
from maxconsole.models.demo import demo_path
from maxconsole.models.facts import model_facts
from maxconsole.models.image import WeightImage
from maxconsole.models.layout import ImageLayout, lay_out
from maxconsole.models.reader import GgufFile, open_gguf
from maxconsole.models.tokenizer import Tokenizer, build_tokenizer
from maxconsole.session.progress import Progress, silent


class Model:
    """An opened GGUF file of a supported family. Raises UserError for any other."""

    def __init__(self, path: Path) -> None:
        self.file: GgufFile = open_gguf(path)
        self.layout: ImageLayout = lay_out(self.file)

    @property
    def name(self) -> str:
        """As the file calls it."""
        return self.layout.shapes.name

    @cached_property
    def facts(self) -> ModelFacts:
        """What the memory planner must know."""
        return model_facts(self.layout)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Raises UserError for a tokenizer that is not supported."""
        return build_tokenizer(self.file.metadata)

    def image(self, progress: Progress = silent) -> WeightImage:
        """The packed weights: from the cache, or packed now. Raises UserError."""
        return weight_image(self.file, self.layout, lambda done, total: progress("pack", done, total))

    def conversation(self, system: str | None = None) -> Conversation:
        """A new conversation. Raises UserError for a model without a usable chat template."""
        return Conversation(self.tokenizer, ChatTemplate(self.file.metadata, self.tokenizer.vocabulary), system)


def find_model(name: str | None) -> Path:
    """The file that a user means: a path, or the demo model for None. Raises UserError where there is none."""
    if name is not None:
        path = Path(name).expanduser()
        if not path.is_file():
            raise UserError(
                f"there is no model file {path}",
                hint="give the path of a GGUF file; `maxconsole model list` shows those in the cache",
            )
        return path
    if not demo_path().is_file():
        raise UserError(
            "no model was given, and the demo model is not here yet",
            hint="run `maxconsole model fetch-demo` (98 MB), or name a GGUF file with --model",
        )
    return demo_path()
