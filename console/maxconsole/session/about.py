# SPDX-License-Identifier: Apache-2.0
"""What runs where: the facts that a recording keeps, and the few that every result names."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from maxconsole.boards import profile_texts
from maxconsole.recording import Facts
from maxconsole.schema import wire
from maxconsole.session.machine import Badge

if TYPE_CHECKING:
    from maxconsole.session.setup import Prepared


@dataclass(frozen=True, slots=True)
class About:
    """What a result is a result of; the same from a board and from its recording."""

    board: str
    model: str
    model_file: str  # its name, without folders
    context: int
    batch: int
    build_id: str
    cores: int


def about(hello: wire.Hello, facts: Facts) -> About:
    """What the board has said of itself, and which file its weights came from."""
    return About(
        board=hello.board,
        model=str(facts.model.get("name", hello.model)),
        model_file=str(facts.model.get("file", "")),
        context=hello.context,
        batch=hello.max_batch,
        build_id=hello.build_id.hex(),
        cores=hello.cores,
    )


def facts_of(prepared: Prepared, badge: Badge) -> Facts:
    """Everything that is known before the board says its first word; the vocabulary apart, which takes a moment."""
    board, model = prepared.board, prepared.model
    uart = board.link.transport == "uart"
    return Facts(
        board=board.name,
        board_profiles=profile_texts(board),
        model={
            "name": model.name,
            "file": model.file.path.name,
            "file_bytes": model.file.path.stat().st_size,
            **asdict(model.facts),
        },
        build_id=prepared.firmware.build_id,
        link=f"uart, {board.uart.baud} baud" if uart else "rtt",
        modelled=badge.modelled,
        timing_model=badge.model_version or 0,
        timing=badge.timing,
    )


def memory_limit(facts: Facts) -> int | None:
    """Bytes per second that the board's memory gives at best, as its profile says; None where it does not."""
    for text in facts.board_profiles.values():  # the board's own first: it overrules what it extends
        try:
            dram = tomllib.loads(text).get("dram")
        except tomllib.TOMLDecodeError:  # of a recording that is not ours; its other figures are still good
            return None
        limit = dram.get("effective_bytes_per_s") if isinstance(dram, dict) else None
        if isinstance(limit, int) and limit > 0:
            return limit
    return None


def badge_of(facts: Facts) -> Badge:
    """Where the figures of a recording come from."""
    return Badge(facts.modelled, facts.timing_model or None, facts.timing)
