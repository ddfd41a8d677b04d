# SPDX-License-Identifier: Apache-2.0
"""Board text made harmless: nothing that a board, a model or a file says may steer the user's terminal."""

from __future__ import annotations

import re

#: C0 and C1 controls, DEL, line and paragraph separators, and the marks that reorder text ("Trojan Source").
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def printable(text: str | bytes, *, keep: str = "") -> str:
    """`text` with unsafe characters, except those in `keep`, as `\\x1b` or `\\u202e`; broken UTF-8 as U+FFFD."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return _UNSAFE.sub(lambda match: match[0] if match[0] in keep else _escape(match), text)
