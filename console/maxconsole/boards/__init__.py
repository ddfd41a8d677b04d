# SPDX-License-Identifier: Apache-2.0
"""Boards as data: profiles, their validation, and the plan of what goes where in a board's memory."""

from __future__ import annotations

from maxconsole.boards.facts import ModelFacts
from maxconsole.boards.loader import DEFAULT_BOARD, list_boards, load_board, profile_texts
from maxconsole.boards.memory_plan import Plan, PoolPlan
from maxconsole.boards.planner import longest_context, plan, plan_unbound
from maxconsole.boards.profile import Board, Provenance
from maxconsole.boards.ranges import MemoryRange
from maxconsole.boards.tables import ProfileError

__all__ = [
    "DEFAULT_BOARD",
    "Board",
    "MemoryRange",
    "ModelFacts",
    "Plan",
    "PoolPlan",
    "ProfileError",
    "Provenance",
    "list_boards",
    "load_board",
    "longest_context",
    "plan",
    "plan_unbound",
    "profile_texts",
]
