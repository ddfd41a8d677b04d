# SPDX-License-Identifier: Apache-2.0
"""A run on a virtual board that was counted instruction by instruction, and where the last one of a build is kept."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile

import numpy as np

from maxconsole import paths
from maxconsole.errors import UserError
from maxconsole.inspection.report import FunctionReport
from maxconsole.virtual import HotSpots
from maxconsole.virtual.hot_spots import Spot


@dataclass(frozen=True, slots=True)
class Passes:
    """How often a loop's header was executed, and cycles from one time to the next."""

    count: int
    cycles_each: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """What every instruction of the image `build_id` cost in one run. `title` says which run, and on which board."""

    build_id: str
    title: str
    spots: HotSpots

    @property
    def cycles(self) -> float:
        """Of all instructions and cores together."""
        return self.spots.total().cycles

    def share(self, spot: Spot) -> float:
        """Of all cycles."""
        total = self.cycles
        return spot.cycles / total if total else 0.0

    def passes(self, report: FunctionReport, number: int) -> Passes | None:
        """Passes of the function's loop `number`; None if it was not executed."""
        loop = report.loops[number]
        count = self.spots.at(report.lines[loop.header].instruction.address).executions
        cycles = sum(self.spots.at(report.lines[index].instruction.address).cycles for index in loop.members)
        return Passes(count, cycles / count) if count else None

    def store(self) -> None:
        """Keeps it as the build's last one. Raises UserError where the cache cannot be written."""
        target = _path(self.build_id)
        try:
            with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".tmp", delete=False) as scratch:
                np.savez_compressed(
                    scratch,
                    first=np.uint64(self.spots.first),
                    time_per_cycle=np.uint64(self.spots.time_per_cycle),
                    counts=self.spots.counts,
                    title=np.array(self.title),
                )
            os.replace(scratch.name, target)
        except OSError as error:
            raise UserError(f"the measurement cannot be kept in {target.parent}: {error.strerror}") from error

    @classmethod
    def load(cls, build_id: str) -> Self | None:
        """The build's last one, or None. A file that is damaged counts as none."""
        try:
            with np.load(_path(build_id), allow_pickle=False) as stored:
                spots = HotSpots(int(stored["first"]), int(stored["time_per_cycle"]), stored["counts"])
                return cls(build_id, str(stored["title"]), spots)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None


def _path(build_id: str) -> Path:
    return paths.cache_dir("hot-spots") / f"{build_id}.npz"
