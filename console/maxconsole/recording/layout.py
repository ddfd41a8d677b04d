# SPDX-License-Identifier: Apache-2.0
"""What is where in a recording: an MCAP file (https://mcap.dev/spec) with the profile "maxconsole".

Two channels hold the link's bytes, one message for every read and every write of the transport; a third has the words
behind the prompts, which the link carries as tokens. `log_time` is the link's clock, moved so that it starts at the
wall clock of the recording's start: it never goes back. `publish_time` is the wall clock itself. `sequence` counts the
messages of a channel, so that a gap is a loss. Attachments before the first message say what was recorded; their CRCs
are checked, as those of the chunks are.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

#: The profile in the file's header, by which a recording is told from any other MCAP file.
PROFILE: Final = "maxconsole"
#: Counted up when an older console could no longer read the file.
FORMAT: Final = 1

#: Attachments: facts as JSON, the model's facts as JSON, the text of its tokens, a folder of board profiles as TOML.
SESSION: Final = "session.json"
MODEL: Final = "model.json"
VOCABULARY: Final = "vocabulary.zst"
BOARDS: Final = "boards/"

SEQUENCE_MASK: Final = 0xFFFF_FFFF


class Channel(IntEnum):
    """What a message of the file holds. The values are also the channels' numbers."""

    FROM_BOARD = 1
    TO_BOARD = 2
    ASKED = 3  # UTF-8: what the user said, before the prompt that it became is sent

    @property
    def topic(self) -> str:
        """The name of the channel."""
        return "session/asked" if self is Channel.ASKED else f"raw/{self.name.lower()}"


class Transfer(NamedTuple):
    """One message: the bytes of one read or one write of the link, or the words of a question."""

    channel: Channel
    time_ns: int  # since the recording's start, monotonic
    wall_ns: int  # since 1970, by the host's clock at that moment
    sequence: int  # of this channel, 32 bits
    data: bytes
