# SPDX-License-Identifier: Apache-2.0
"""What is where in a recording: an MCAP file (https://mcap.dev/spec) with the profile "maxconsole".

Two channels hold the link's bytes, one message for every read and every write of the transport. `log_time` is the
host's monotonic clock, moved so that it starts at the wall clock of the recording's start: it never goes back.
`publish_time` is the wall clock itself. `sequence` counts the messages of a channel, so that a gap is a loss.
Attachments before the first message say what was recorded; their CRCs are checked, as those of the chunks are.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

#: The profile in the file's header, by which a recording is told from any other MCAP file.
PROFILE: Final = "maxconsole"
#: Counted up when an older console could no longer read the file.
FORMAT: Final = 1

#: Attachments: facts as JSON, the model's facts as JSON, and a folder of board profiles as TOML.
SESSION: Final = "session.json"
MODEL: Final = "model.json"
BOARDS: Final = "boards/"

SEQUENCE_MASK: Final = 0xFFFF_FFFF


class Direction(IntEnum):
    """Which way bytes went. The values are also the channels' numbers."""

    FROM_BOARD = 1
    TO_BOARD = 2

    @property
    def topic(self) -> str:
        """The name of the channel."""
        return f"raw/{self.name.lower()}"


class Transfer(NamedTuple):
    """The bytes of one read or one write of the link."""

    direction: Direction
    time_ns: int  # since the recording's start, monotonic
    wall_ns: int  # since 1970, by the host's clock at that moment
    sequence: int  # of this direction, 32 bits
    data: bytes
