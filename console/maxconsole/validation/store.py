# SPDX-License-Identifier: Apache-2.0
"""Results kept by what they depend on, so that a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from maxconsole import paths

Figures = dict[str, float]
"""Named results of one measurement."""

Inputs = Iterable[str | bytes | Path]
"""What a result depends on; of a Path, the file's content."""


class Store:
    """A folder of results. `model` stands for the timing model, whatever decides its figures."""

    def __init__(self, folder: Path, model: str, *, fresh: bool = False) -> None:
        self._folder = folder
        self._model = model
        self._fresh = fresh

    def figures(self, name: str, inputs: Inputs, measure: Callable[[], Figures], *, modeled: bool = True) -> Figures:
        """What `measure` returned for these inputs, now or earlier. `modeled` False: whatever the model, for results of
        other tools."""
        digest = hashlib.sha256(name.encode())
        for part in (*inputs, self._model if modeled else ""):
            data = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "little") + data)
        file = self._folder / f"{name.replace('/', '-')}-{digest.hexdigest()[:24]}.json"
        if file.is_file() and not self._fresh:
            return {key: float(value) for key, value in json.loads(file.read_text("utf-8")).items()}
        result = measure()
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=self._folder, delete=False) as scratch:
            json.dump(result, scratch)
        Path(scratch.name).replace(file)
        return result


def model_digest() -> str:
    """Of all sources that decide what the timing model says."""
    digest = hashlib.sha256()
    folder = paths.firmware_dir()
    for file in sorted([*(folder / "virtual").glob("*.[ch]"), folder / "schema" / "device_page.h"]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
