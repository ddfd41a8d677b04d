# SPDX-License-Identifier: Apache-2.0
"""What the link asks of whoever carries its bytes, and of whoever can reach a board's memory."""

from __future__ import annotations

from typing import Protocol


class Transport(Protocol):
    """A byte stream to and from the board. Every method raises BoardError when the other end is gone."""

    def read(self, timeout: float, /) -> bytes:
        """What has arrived, as soon as anything has; b"" when nothing came within `timeout` seconds."""
        ...

    def write(self, data: bytes, /) -> None:
        """All of `data`. Waits while the board has no room, and raises BoardError when it stops taking any."""
        ...

    def close(self) -> None:
        """Lets go of the stream; the board keeps running. Closing twice is harmless."""
        ...


class MemoryAccess(Protocol):
    """Physical memory of a board, through shared memory or a debug probe.

    Every method raises BoardError for addresses that it cannot reach.
    """

    def read(self, address: int, size: int, /) -> bytes:
        """`size` bytes from the physical `address` on."""
        ...

    def write(self, address: int, data: bytes, /) -> None:
        """Stores `data` from the physical `address` on."""
        ...

    def view(self, address: int, size: int, /) -> memoryview | None:
        """The live bytes themselves, writable and without a copy, or None where memory is not shared."""
        ...
