# SPDX-License-Identifier: Apache-2.0
"""What each ink looks like in the theme at hand: worked out once a theme, not once a widget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rich.style import Style
from textual.color import Color

from maxconsole.tui.drawing.ink import Ink

if TYPE_CHECKING:
    from textual.app import App

#: Ink -> the theme's variable for its color, and the variable or the words of its style.
_TABLE: Final[dict[Ink, tuple[str, str]]] = {
    Ink.PLAIN: ("foreground", ""),
    Ink.DIM: ("secondary", "$quiet-style"),
    Ink.TITLE: ("foreground", "bold"),
    Ink.STRONG: ("foreground", "bold"),
    Ink.ACCENT: ("accent", "bold"),
    Ink.GOOD: ("success", ""),
    Ink.WARN: ("warning", "bold"),
    Ink.BAD: ("error", "bold"),
    Ink.BAR: ("primary", ""),
    Ink.TRACK: ("track", "$quiet-style"),
    Ink.LINE: ("rule", "$quiet-style"),
    Ink.SINK: ("sink", "bold"),
    Ink.PAST: ("past", "$quiet-style"),
    Ink.BADGE: ("background", "$badge-style"),
    Ink.KEY: ("accent", ""),
    Ink.CURSOR: ("foreground", "reverse"),
}

_known: dict[str, dict[Ink, Style]] = {}


def ink_styles(app: App[object]) -> dict[Ink, Style]:
    """The styles of all inks in the theme of `app`, without a background but for the badge."""
    styles = _known.get(app.theme)
    if styles is None:
        styles = _known[app.theme] = _work_out(app.theme_variables)
    return styles


def _work_out(variables: Mapping[str, str]) -> dict[Ink, Style]:
    styles = {}
    for ink, (color, words) in _TABLE.items():
        wanted = variables[words[1:]] if words.startswith("$") else words
        style = Style.parse("" if wanted == "none" else wanted)
        styles[ink] = style + Style.from_color(Color.parse(variables[color]).rich_color)
    styles[Ink.BADGE] += Style(bgcolor=Color.parse(variables["warning"]).rich_color)
    return styles
