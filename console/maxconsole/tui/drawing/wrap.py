# SPDX-License-Identifier: Apache-2.0
"""Text in lines of a given width, by terminal cells."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells

_TAB = "    "


def wrap(paragraph: str, cells: int) -> list[str]:
    """One paragraph (no line feeds) in lines of at most `cells` cells, broken at spaces where there are any.

    Spaces at a break are dropped; those that indent the paragraph stay. An empty paragraph is one empty line.
    """
    text = paragraph.replace("\t", _TAB)
    if cells < 2 or cell_len(text) <= cells:
        return [text]
    lines: list[str] = []
    current = ""
    for word in _words(text):
        if cell_len(current) + cell_len(word) <= cells:
            current += word
            continue
        if current.strip():
            lines.append(current.rstrip())
            current = word.lstrip()
        else:
            current += word
        if cell_len(current) > cells:
            *whole, current = chop_cells(current, cells)
            lines += whole
    lines.append(current.rstrip() if lines else current)
    return lines


def _words(text: str) -> list[str]:
    """Words, each with the spaces in front of it."""
    words: list[str] = []
    start = 0
    for index in range(1, len(text)):
        if text[index] == " " and text[index - 1] != " ":
            words.append(text[start:index])
            start = index
    words.append(text[start:])
    return words
