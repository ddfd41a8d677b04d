# SPDX-License-Identifier: Apache-2.0
"""What each instruction has cost on a virtual board: the file that the plug-in counts in.

(Its own side: firmware/virtual/hot_spots.h, which says what the time of an instruction is.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from maxconsole.errors import BoardError

_HEADER: Final = struct.Struct("<8sIIQQQ24x")
_MAGIC: Final = b"HOTSPOTS"
_VERSION: Final = 1
_COUNTERS: Final = 4
_INSTRUCTION_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Spot:
    """One instruction, or several together, on all cores."""

    executions: int = 0
    cycles: float = 0.0
    l1d_refills: int = 0
    l2_refills: int = 0

    def __add__(self, other: Spot) -> Spot:
        return Spot(
            self.executions + other.executions,
            self.cycles + other.cycles,
            self.l1d_refills + other.l1d_refills,
            self.l2_refills + other.l2_refills,
        )


@dataclass(frozen=True, slots=True, eq=False)
class HotSpots:
    """Counts of all instructions from the address `first` on, summed over the cores.

    `counts`: uint64 [instructions, 4]: executions, time in parts of a cycle, refills of L1D and of L2.
    """

    first: int
    time_per_cycle: int
    counts: NDArray[np.uint64]

    def at(self, address: int) -> Spot:
        """The instruction at `address`; nothing where none was counted."""
        return self.within(address, _INSTRUCTION_BYTES)

    def within(self, address: int, size_bytes: int) -> Spot:
        """All instructions of a piece of code together."""
        start = max(0, (address - self.first) // _INSTRUCTION_BYTES)
        end = max(0, (address + size_bytes - self.first) // _INSTRUCTION_BYTES)
        executions, time, l1d, l2 = (int(number) for number in self.counts[start:end].sum(axis=0))
        return Spot(executions, time / self.time_per_cycle, l1d, l2)

    def executed(self) -> Iterator[tuple[int, Spot]]:
        """Address and cost of every instruction that was executed, ascending."""
        for index in np.flatnonzero(self.counts[:, 0]):
            executions, time, l1d, l2 = (int(number) for number in self.counts[index])
            yield self.first + int(index) * _INSTRUCTION_BYTES, Spot(executions, time / self.time_per_cycle, l1d, l2)

    def total(self) -> Spot:
        """Everything together."""
        return self.within(self.first, len(self.counts) * _INSTRUCTION_BYTES)

    def since(self, earlier: HotSpots) -> Self:
        """What was counted after `earlier` had been read, of the same board."""
        return replace(self, counts=self.counts - earlier.counts)


def read_hot_spots(path: Path) -> HotSpots:
    """The counts as they are now. Raises BoardError for a file that the plug-in did not write."""
    try:
        data = path.read_bytes()
        magic, version, cores, first, instructions, time_per_cycle = _HEADER.unpack_from(data)
        if (magic, version) != (_MAGIC, _VERSION):
            raise ValueError("its header is another one")
        counts = np.frombuffer(data, np.dtype("<u8"), offset=_HEADER.size)
        by_core = counts.reshape(cores, instructions, _COUNTERS)
    except (OSError, ValueError, struct.error) as error:
        raise BoardError(f"the timing plug-in's counts {path} cannot be read: {error}") from error
    return HotSpots(first, time_per_cycle, by_core.sum(axis=0, dtype=np.uint64))
