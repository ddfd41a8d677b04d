# SPDX-License-Identifier: Apache-2.0
"""The console's themes. Shapes and words carry every state; colors only make them quicker to find.

The colors of `maxconsole-safe` are those of M. Okabe and K. Ito, "Color Universal Design" (2008), which people with
protanopia, deuteranopia and tritanopia tell apart.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from textual.theme import Theme

DARK: Final = "maxconsole-dark"
LIGHT: Final = "maxconsole-light"
SAFE: Final = "maxconsole-safe"
MONOCHROME: Final = "maxconsole-mono"

#: Where there are colors, these need no style; the monochrome theme tells them by theirs.
_STYLES: Final = {"quiet-style": "none", "badge-style": "bold", "focus-style": "bold"}

_ANSI_DEFAULT: Final = {
    "block-cursor-foreground": "ansi_default",
    "block-cursor-background": "ansi_default",
    "block-cursor-text-style": "reverse",
    "input-cursor-foreground": "ansi_default",
    "input-cursor-background": "ansi_default",
    "input-cursor-text-style": "reverse",
    "input-selection-foreground": "ansi_default",
    "input-selection-background": "ansi_default",
    "scrollbar": "ansi_default",
    "scrollbar-hover": "ansi_default",
    "scrollbar-active": "ansi_default",
    "scrollbar-background": "ansi_default",
    "scrollbar-corner-color": "ansi_default",
    "scrollbar-background-hover": "ansi_default",
    "scrollbar-background-active": "ansi_default",
    "screen-selection-foreground": "ansi_default",
    "screen-selection-background": "ansi_default",
    "border": "ansi_default",
    "border-blurred": "ansi_default",
    "footer-key-foreground": "ansi_default",
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
}

THEMES: Final = (
    Theme(
        name=DARK,
        primary="#6cb6e8",
        secondary="#8fa3b8",
        accent="#5fd0c5",
        success="#7ec87e",
        warning="#e6b455",
        error="#ef7070",
        foreground="#d5dae1",
        background="#12161c",
        surface="#161b22",
        panel="#1f2630",
        variables={"sink": "#e6b455", "past": "#5b6b7d", "track": "#3a4552", "rule": "#3a4552", **_STYLES},
    ),
    Theme(
        name=LIGHT,
        primary="#0b5fa5",
        secondary="#4d5b6b",
        accent="#0f766e",
        success="#2f7d32",
        warning="#8a5a00",
        error="#b3261e",
        foreground="#1d242c",
        background="#fbfbf9",
        surface="#f3f3ef",
        panel="#e6e7e2",
        dark=False,
        variables={"sink": "#8a5a00", "past": "#9aa5b1", "track": "#c4cad0", "rule": "#b8bfc6", **_STYLES},
    ),
    Theme(
        name=SAFE,
        primary="#56b4e9",
        secondary="#b0b8c0",
        accent="#f0e442",
        success="#56b4e9",
        warning="#e69f00",
        error="#ff7f3f",
        foreground="#e8e8e8",
        background="#101214",
        surface="#15181b",
        panel="#22272c",
        variables={"sink": "#e69f00", "past": "#7a7f85", "track": "#44494f", "rule": "#44494f", **_STYLES},
    ),
    Theme(
        name=MONOCHROME,
        primary="ansi_default",
        secondary="ansi_default",
        accent="ansi_default",
        success="ansi_default",
        warning="ansi_default",
        error="ansi_default",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        ansi=True,
        variables={
            **_ANSI_DEFAULT,
            "sink": "ansi_default",
            "past": "ansi_default",
            "track": "ansi_default",
            "rule": "ansi_default",
            "quiet-style": "dim",
            "badge-style": "bold reverse",
            "focus-style": "bold reverse",
        },
    ),
)


def initial_theme(environ: Mapping[str, str] = os.environ) -> str:
    """The theme to start with: `MAXCONSOLE_THEME`, or monochrome where `NO_COLOR` is set or the terminal has no color.

    An unknown name in `MAXCONSOLE_THEME` is ignored. `NO_COLOR` (no-color.org) counts when it is not empty.
    """
    if environ.get("NO_COLOR") or environ.get("TERM") in {"dumb", "vt100", "vt220"}:
        return MONOCHROME
    wanted = environ.get("MAXCONSOLE_THEME", "")
    names = {theme.name for theme in THEMES}
    return next((name for name in (wanted, f"maxconsole-{wanted}") if name in names), DARK)
