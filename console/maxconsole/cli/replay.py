# SPDX-License-Identifier: Apache-2.0
"""`maxconsole replay`: a recorded session again, without a board."""

from __future__ import annotations

from typing import Annotated

import typer

from maxconsole.cli import options
from maxconsole.cli.console import replay_in_console
from maxconsole.cli.playing import Playing
from maxconsole.cli.shell import print_json
from maxconsole.session.replay import ReplaySession, find_recording, list_recordings

app = options.verb()
_AT_ONCE = "max"


def speed_of(text: str) -> float:
    """A factor; 0 for "max". Raises BadParameter for what is neither."""
    if text == _AT_ONCE:
        return 0.0
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 < speed < float("inf"):
        raise typer.BadParameter(f"{text} is neither a factor, such as 1 or 10, nor {_AT_ONCE}", param_hint="--speed")
    return speed


Speed = Annotated[str, typer.Option(metavar="N|max", help="So many times faster than it was recorded; max: at once.")]


@app.command(
    epilog="Examples: maxconsole replay first-answer; maxconsole replay talk.mcap --speed 4 --json;"
    " maxconsole replay long-chat --console"
)
def replay(
    *,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help=f"A recording; the shipped ones: {', '.join(list_recordings())}.")
    ],
    speed: Speed = "1",
    in_console: Annotated[bool, typer.Option("--console", help="Show it in the console, with all its panes.")] = False,
    as_json: options.Json = False,
) -> None:
    """Play a recorded session: the text as it came, and then the figures that `ask` printed."""
    factor = speed_of(speed)
    if in_console:
        raise typer.Exit(replay_in_console(find_recording(file), factor))
    with ReplaySession.open(file, speed=factor) as session:
        playing = Playing(session, stream=not as_json)
        playing.run()
        if as_json:
            print_json(playing.document())
