# SPDX-License-Identifier: Apache-2.0
"""The text of source lines, by the names that debug information has for them."""

from __future__ import annotations

from pathlib import Path


class SourceText:
    """Lines of the files below `root`, the folder above the firmware. A file that is not there has no lines."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, tuple[str, ...]] = {}

    def line(self, file: str, number: int) -> str:
        """Line `number`, counted from 1, without what is around its text; "" where there is none."""
        if file not in self._files:
            try:
                text = (self._root / file).read_text("utf-8", "replace")
            except OSError:
                text = ""
            self._files[file] = tuple(text.splitlines())
        lines = self._files[file]
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""
