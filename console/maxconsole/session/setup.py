# SPDX-License-Identifier: Apache-2.0
"""What has to exist before a board can be flashed: a plan, packed weights, and firmware built for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from maxconsole.boards import DEFAULT_BOARD, Board, Plan, load_board, plan
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.firmware.build import BuiltFirmware, build
from maxconsole.models.image import WeightImage
from maxconsole.models.model import Model
from maxconsole.session.machine import Timing
from maxconsole.session.model import open_model
from maxconsole.session.progress import Progress, silent
from maxconsole.session.route import USUAL, Route


@dataclass(frozen=True, slots=True)
class Setup:
    """What the user asked for. `model` None is the demo model; `timing` is a virtual board's.

    `cores` None leaves to the firmware how many work. `link` None is what the board's profile says. `port` names the
    serial port of a board that runs already, which is then not flashed; `baud` None is its profile's rate. `record`
    names a file for everything that the link carries, from the first byte on; an existing one is only replaced with
    `overwrite`.
    """

    board: str = DEFAULT_BOARD
    model: str | None = None
    context: int = DEFAULT_CONTEXT
    batch: int = DEFAULT_BATCH
    timing: Timing = "fast"
    cores: int | None = None
    decode_cores: int | None = None  # where not as many as in prefill
    route: Route = USUAL
    link: Literal["rtt", "uart"] | None = None
    record: Path | None = None
    overwrite: bool = False
    port: str | None = None
    baud: int | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that flashing needs."""

    setup: Setup
    board: Board
    model: Model
    plan: Plan
    image: WeightImage
    firmware: BuiltFirmware


def prepare(setup: Setup, progress: Progress = silent) -> Prepared:
    """Plans, packs and builds; what is in the caches already is not done again.

    Raises UserError, DoesNotFit before anything slow is started, ToolMissing, CompileError.
    """
    board = load_board(setup.board)
    link = setup.link if setup.port is None else "uart"
    if link is not None:
        board = replace(board, link=replace(board.link, transport=link))
    model = open_model(setup.model)
    planned = plan(board, model.facts, setup.context, setup.batch)
    image = model.image(lambda done, total: progress("pack", done, total))
    firmware = build(board, planned, progress=lambda done, total, name: progress("build", done, total, name))
    return Prepared(setup, board, model, planned, image, firmware)
