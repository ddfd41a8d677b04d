# SPDX-License-Identifier: Apache-2.0
"""What a session needs of the board itself, beside the link: memory, life signs, and a look at its cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from maxconsole.boards import Board
from maxconsole.link.transport import MemoryAccess, Transport

#: What times a virtual board: an out-of-order core, instruction by instruction; port bounds and caches only; nothing.
Timing: TypeAlias = Literal["timed", "fast", "off"]


@dataclass(frozen=True, slots=True)
class Badge:
    """Where cycles and misses come from. `model_version` is that of the timing model, None for silicon."""

    modelled: bool
    model_version: int | None = None
    timing: str = "timed"  # a Timing; of silicon it says nothing

    @property
    def counts(self) -> bool:
        """False for a virtual board without a timing model."""
        return not self.modelled or self.timing != "off"

    def __str__(self) -> str:
        if not self.modelled:
            return "MEASURED"
        if not self.counts:
            return "UNTIMED"
        if self.model_version is None:
            return "MODELLED"
        return f"MODELLED (timing model {self.model_version}{', fast' if self.timing == 'fast' else ''})"


@dataclass(frozen=True, slots=True)
class Load:
    """What to put into a board: an ELF file, and more (physical address, bytes) on top of it, weights for example.

    `timing` is a virtual board's; `check_races` has it look for races between its cores, `hot_spots` count what each
    instruction costs.
    """

    board: Board
    elf: Path
    extra: Sequence[tuple[int, memoryview]] = ()
    timing: Timing = "timed"
    check_races: bool = False
    hot_spots: bool = False


@dataclass(frozen=True, slots=True)
class StoppedCore:
    """Where a halted core was, and the return addresses that led there."""

    number: int
    pc: int
    backtrace: tuple[int, ...] = ()


class Machine(Protocol):
    """A board on which the firmware runs. Every method raises BoardError when it cannot do its work."""

    @property
    def memory(self) -> MemoryAccess:
        """The board's physical memory."""
        ...

    @property
    def badge(self) -> Badge:
        """Where its cycle and event counts come from."""
        ...

    def transport(self, timeout: float) -> Transport:
        """A byte stream to the firmware, once it is ready to talk."""
        ...

    def check(self) -> None:
        """Returns if the board is alive as far as can be seen from outside."""
        ...

    def halt(self) -> tuple[StoppedCore, ...]:
        """Stops all cores and says where they were."""
        ...

    def uart_text(self) -> str:
        """What the board wrote to its UART; "" where that is not read. Not yet safe to print."""
        ...

    def close(self) -> None:
        """Lets go of the board; an emulated one ends and leaves nothing behind. Closing twice is harmless."""
        ...
