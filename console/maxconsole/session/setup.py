# SPDX-License-Identifier: Apache-2.0
"""What has to exist before a board can be flashed: a plan, packed weights, and firmware built for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from maxconsole.boards import DEFAULT_BOARD, Board, Plan, load_board, plan
from maxconsole.boards.planner import DEFAULT_BATCH, DEFAULT_CONTEXT
from maxconsole.firmware.build import BuiltFirmware, build
from maxconsole.models.image import WeightImage
from maxconsole.models.model import Model
from maxconsole.session.model import open_model
from maxconsole.session.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Setup:
    """What the user asked for. `model` None is the demo model; `fast` runs a virtual board without its timing."""

    board: str = DEFAULT_BOARD
    model: str | None = None
    context: int = DEFAULT_CONTEXT
    batch: int = DEFAULT_BATCH
    fast: bool = False
    capture: Path | None = None  # of the raw bytes that the board sends


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
    model = open_model(setup.model)
    planned = plan(board, model.facts, setup.context, setup.batch)
    image = model.image(lambda done, total: progress("pack", done, total))
    firmware = build(board, planned, progress=lambda done, total, name: progress("build", done, total, name))
    return Prepared(setup, board, model, planned, image, firmware)
