# SPDX-License-Identifier: Apache-2.0
"""What the link asks of whoever carries its bytes, watches them, or can reach a board's memory."""

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


class Observer(Protocol):
    """Who sees a link's bytes, as they were read and written, without being asked to do anything about them.

    `at_ns` is the link's clock; it never goes back, whichever way the bytes go.
    """

    def received(self, data: bytes, at_ns: int, /) -> None:
        """What one read gave, before it is decoded; on the reader thread."""
        ...

    def sent(self, data: bytes, at_ns: int, /) -> None:
        """What is about to be written, so that no answer is seen before its command; on the sender's thread."""
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
