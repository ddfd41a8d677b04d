# SPDX-License-Identifier: Apache-2.0
"""Text for measurements that is on every machine: nothing has to be fetched."""

from __future__ import annotations

import inspect
from typing import Final, Literal, get_args

Kind = Literal["news", "documents", "code"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

TEXT: Final = """\
The ferry left the harbor an hour late because the tide had been lower than the tables said. Most of the \
passengers stayed below, where it was warm, and only two people stood at the rail: a surveyor who was paid to \
measure how the sand moved along the coast, and a boy who wanted to see the lighthouse. The surveyor explained \
that sand is never still. Every wave lifts some of it and sets it down a little further on, and after a hundred \
years a village that was built beside the sea may find itself behind a mile of dunes. "Then why do you measure \
it," asked the boy, "if it moves anyway?" The surveyor thought about this for some time. "Because a map that is \
wrong is worse than no map," she said. "People trust it."

A processor spends most of its time waiting. Arithmetic is cheap: a core of a modern telephone can multiply and \
add thirty-two pairs of small numbers in every cycle, more than two billion times in a second. Moving the numbers \
to the place where they are multiplied is what costs time and energy. A value that lies in the nearest cache \
arrives after four cycles; one that has to come from main memory arrives after three hundred. Programs that handle \
large tables are therefore arranged so that every number, once it has been fetched, is used as often as possible \
before it is replaced by another. A matrix is cut into tiles, the tiles are cut into panels, and the innermost \
loop touches only what fits into the registers. When the tiles are too small, too much is fetched twice; when they \
are too large, they push each other out of the cache. The best size depends on the machine, and is found by \
measuring.

In the spring of that year the town council decided to repair the old bridge instead of building a new one. The \
engineers had examined every pier and found the stone sound, but the mortar between the stones had been washed out \
to the depth of a hand. They proposed to inject a mixture of lime and volcanic ash, as the Romans had done, \
because it hardens under water and remains slightly soft, so that the bridge can move with the seasons without \
cracking. The work took seven months. Traffic was sent over the railway bridge to the north, which annoyed the \
farmers, and a footbridge was hung below the arches for the children who went to the school on the other side. \
When the scaffolding was taken down in December, hardly anything looked different. That, said the mayor, had been \
the plan.

To sort a list of names, begin with the second one. Compare it with the name before it, and if it should come \
earlier, move the other one place to the right. Go on in this way until the name is where it belongs, then take \
the third, and the fourth, until none is left. For ten names this is as good as any other method; for ten thousand \
it is hopeless, because each name has to pass half of those before it. A better way is to split the list into two \
halves, sort each of them, and merge the results: look at the first name of each half, take the smaller, and \
repeat. Every name is then moved only about fourteen times. The second method needs a second list to merge into, \
which is the price that is paid for its speed, and on a small machine without memory to spare the first may still \
be the one to choose.
"""


def text_of(kind: Kind) -> str:
    """News: written for this project. Documents: the language reference of this Python. Code: some of its library.

    The latter two are under the Python Software Foundation's licence, and differ a little between versions.
    """
    if kind == "documents":
        from pydoc_data import topics  # noqa: PLC0415 - half a megabyte, for measurements only

        return "\n\n".join(topics.topics[name] for name in sorted(topics.topics))
    if kind == "code":
        import argparse  # noqa: PLC0415

        return inspect.getsource(argparse)
    return TEXT
