# SPDX-License-Identifier: Apache-2.0
"""The command palette: the action table under the names `area: verb`, as far as the actions apply."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from maxconsole.tui.actions import Action, applicable

if TYPE_CHECKING:
    from maxconsole.tui.app import ConsoleApp

#: Keys that only make sense where the cursor is.
_NOT_LISTED = {"answer.send", "prompt.new_line", "help.commands"}


class ActionCommands(Provider):
    """Lists what applies now; typing narrows it down."""

    @property
    def _console(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    def _actions(self) -> list[Action]:
        return [one for one in applicable(self._console.situation) if one.id not in _NOT_LISTED]

    async def discover(self) -> Hits:
        for action in self._actions():
            yield DiscoveryHit(action.title, partial(self._console.perform, action), help=_help(action))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._actions():
            score = matcher.match(action.title)
            if score > 0:
                yield Hit(
                    score, matcher.highlight(action.title), partial(self._console.perform, action), help=_help(action)
                )


def _help(action: Action) -> str:
    return f"{action.help} ({action.key_label})" if action.keys else action.help
