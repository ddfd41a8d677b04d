# SPDX-License-Identifier: Apache-2.0
"""Which model file a user means."""

from __future__ import annotations

from pathlib import Path

from maxconsole.errors import UserError
from maxconsole.models.demo import demo_path
from maxconsole.models.model import Model


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


def open_model(name: str | None) -> Model:
    """The model that a user means, opened. Raises UserError also for a file that is damaged or not supported."""
    return Model.open(find_model(name))
