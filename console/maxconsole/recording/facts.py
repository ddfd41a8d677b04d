# SPDX-License-Identifier: Apache-2.0
"""What a recording says about itself: board, model, firmware, and whether its cycles are modelled or measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

from maxconsole.errors import UserError
from maxconsole.models.pieces import TokenPieces
from maxconsole.recording.layout import BOARDS, FORMAT, MODEL, SESSION, VOCABULARY
from maxconsole.schema import wire

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that was known about the session when its recording started.

    `board_profiles` are TOML texts by file name: the board's own first, then those that it extends. `model` is empty
    for a board without one, and `vocabulary` None where the text of tokens is not known. `build_id` is the firmware's,
    hexadecimal, and empty where it is only in the HELLO.
    """

    board: str
    board_profiles: Mapping[str, str] = field(default_factory=dict)
    model: Json = field(default_factory=dict)
    vocabulary: TokenPieces | None = None
    build_id: str = ""
    link: str = ""  # "rtt", or a port and its rate
    modelled: bool = False  # the badge: cycles come from a timing model, or from silicon
    timing_model: int = 0  # the model's version
    timing: str = "timed"  # of a virtual board; "fast", or "off" where nothing is counted
    console: str = ""  # version of the console that recorded
    started_ns: int = 0  # wall clock at the start, since 1970
    started_monotonic_ns: int = 0  # the monotonic clock at the same moment
    schema_hash: int = wire.SCHEMA_HASH  # of the messages that the console understood

    def attachments(self) -> dict[str, tuple[str, bytes]]:
        """Media type and content by name. The last one is never missing: where it is there, all of them are."""
        files = {BOARDS + name: ("application/toml", text.encode()) for name, text in self.board_profiles.items()}
        if self.vocabulary is not None:
            files[VOCABULARY] = ("application/zstd", self.vocabulary.pack())
        files[MODEL] = ("application/json", _dump(self.model))
        session = {name: getattr(self, name) for name in _SESSION_TYPES}
        files[SESSION] = ("application/json", _dump({"format": FORMAT, **session}))
        return files


_APART: Final = ("board_profiles", "model", "vocabulary")
#: The fields of session.json with the names of their types. The others are attachments of their own.
_SESSION_TYPES = {one.name: one.type for one in fields(Facts) if one.name not in _APART}


def read_facts(attachments: Mapping[str, bytes], name: str) -> Facts:
    """The facts in the attachments of the recording called `name`, in the file's order.

    Raises UserError for one that is missing or malformed, or of a newer format.
    """
    session = _load(attachments, SESSION, name)
    if session.pop("format", None) != FORMAT:
        raise UserError(f"{name} was recorded by a newer console", hint="update this one: pip install -U maxconsole")
    if any(type(value).__name__ != _SESSION_TYPES.get(key) for key, value in session.items()):
        raise _damaged(name, SESSION)
    try:
        profiles = {
            path.removeprefix(BOARDS): data.decode() for path, data in attachments.items() if path.startswith(BOARDS)
        }
        model, vocabulary = _load(attachments, MODEL, name), _vocabulary(attachments, name)
        return Facts(**session, board_profiles=profiles, model=model, vocabulary=vocabulary)
    except (TypeError, UnicodeDecodeError) as error:
        raise _damaged(name, SESSION) from error


def _vocabulary(attachments: Mapping[str, bytes], name: str) -> TokenPieces | None:
    packed = attachments.get(VOCABULARY)
    try:
        return None if packed is None else TokenPieces.unpack(packed)
    except ValueError as error:
        raise _damaged(name, VOCABULARY) from error


def _dump(value: Json) -> bytes:
    return json.dumps(value, indent=1).encode()


def _load(attachments: Mapping[str, bytes], attachment: str, name: str) -> Json:
    try:
        value = json.loads(attachments[attachment])
    except (KeyError, ValueError, RecursionError) as error:
        raise _damaged(name, attachment) from error
    if not isinstance(value, dict):
        raise _damaged(name, attachment)
    return value


def _damaged(name: str, attachment: str) -> UserError:
    return UserError(
        f"{name} does not say what it recorded: its {attachment} is missing or damaged",
        hint="the file was cut off as it was started, or its beginning is overwritten; restore it from a copy",
    )
