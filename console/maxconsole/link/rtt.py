# SPDX-License-Identifier: Apache-2.0
"""SEGGER RTT over any MemoryAccess: a byte stream through two rings in the board's memory.

Layout of the control block on AArch64: `char id[16]`, `int32 max_up`, `int32 max_down`, then for every ring
`u64 name`, `u64 buffer`, `u32 size`, `u32 write`, `u32 read`, `u32 flags` (SEGGER UM08001, "RTT implementation").
The board moves `write` of the up ring and `read` of the down ring, the host the other two.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

from maxconsole.errors import BoardError
from maxconsole.link.transport import MemoryAccess

BLOCK_ID = b"SEGGER RTT".ljust(16, b"\0")
_HEADER = struct.Struct("<16sii")
_RING = struct.Struct("<QQIIII")
_WRITE_OFFSET = 20
_READ_OFFSET = 24
_WORD_BYTES = 4

_RINGS_MAX = 16
_RING_BYTES_MIN = 16
_RING_BYTES_MAX = 16 << 20

#: Pauses between looks at a ring that had nothing: from the first to the last, doubling.
_PAUSE_MIN = 0.0002
_PAUSE_MAX = 0.002
#: The pause once nothing has come for a while: a board at rest must cost next to nothing.
_PAUSE_AT_REST = 0.01
_REST_AFTER = 1.0


class _Memory:
    """`size` bytes of board memory: through a view where there is one, else through reads and writes."""

    def __init__(self, memory: MemoryAccess, address: int, size: int) -> None:
        self._memory = memory
        self._address = address
        self._view = memory.view(address, size)
        # A cast view loads and stores an aligned word at once; a slice of bytes need not.
        self._words = None if self._view is None else self._view[: size // 4 * 4].cast("I")

    def load(self, offset: int, size: int) -> bytes:
        if self._view is None:
            return self._memory.read(self._address + offset, size)
        return bytes(self._view[offset : offset + size])

    def store(self, offset: int, data: bytes) -> None:
        if self._view is None:
            self._memory.write(self._address + offset, data)
        else:
            self._view[offset : offset + len(data)] = data

    def word(self, offset: int) -> int:
        if self._words is None:
            return int.from_bytes(self.load(offset, _WORD_BYTES), "little")
        return self._words[offset // _WORD_BYTES]

    def store_word(self, offset: int, value: int) -> None:
        if self._words is None:
            self.store(offset, value.to_bytes(_WORD_BYTES, "little"))
        else:
            self._words[offset // _WORD_BYTES] = value

    def release(self) -> None:
        """Lets go of the views, without which shared memory cannot be unmapped."""
        for view in (self._words, self._view):
            if view is not None:
                view.release()


class _Ring:
    """One ring: its descriptor, which may turn to garbage at any time, and its buffer."""

    def __init__(self, memory: MemoryAccess, descriptor: int, name: str) -> None:
        self._name = name
        self._descriptor = _Memory(memory, descriptor, _RING.size)
        buffer: int
        self.size: int
        _, buffer, self.size, *_ = _RING.unpack(self._descriptor.load(0, _RING.size))
        if not _RING_BYTES_MIN <= self.size <= _RING_BYTES_MAX:
            self._descriptor.release()
            raise BoardError(
                f"the RTT {name} ring claims a size of {self.size} bytes",
                hint="the control block is damaged, or belongs to another firmware: flash again",
            )
        try:
            self._buffer = _Memory(memory, buffer, self.size)
        except BoardError as error:
            self._descriptor.release()
            raise BoardError(
                f"the RTT {name} ring claims to be at {buffer:#x}, which cannot be reached",
                hint="the control block is damaged, or belongs to another firmware: flash again",
            ) from error

    def offsets(self) -> tuple[int, int]:
        """(write, read) as they are now, both inside the ring."""
        write = self._descriptor.word(_WRITE_OFFSET)
        read = self._descriptor.word(_READ_OFFSET)
        if write >= self.size or read >= self.size:
            raise BoardError(
                f"the RTT {self._name} ring of {self.size} bytes says write {write}, read {read}",
                hint="the board has overwritten its control block: flash again, and look for a stray store",
            )
        return write, read

    def take(self) -> bytes:
        """Everything that the other side has written and we have not read."""
        write, read = self.offsets()
        if write == read:
            return b""
        if write > read:
            data = self._buffer.load(read, write - read)
        else:
            data = self._buffer.load(read, self.size - read) + self._buffer.load(0, write)
        self._descriptor.store_word(_READ_OFFSET, write)
        return data

    def put(self, data: memoryview) -> int:
        """As much of `data` as there is room for; how much that was."""
        write, read = self.offsets()
        room = (read - write - 1) % self.size
        count = min(room, len(data))
        first = min(count, self.size - write)
        if first:
            self._buffer.store(write, bytes(data[:first]))
        if count > first:
            self._buffer.store(0, bytes(data[first:count]))
        if count:  # only now may the board see them
            self._descriptor.store_word(_WRITE_OFFSET, (write + count) % self.size)
        return count

    def release(self) -> None:
        self._descriptor.release()
        self._buffer.release()


class RttTransport:
    """Up and down channel 0 of the control block at `block`, as a Transport.

    `stall_timeout`: seconds for which the board may leave the down ring full before `write` gives up.
    """

    def __init__(self, memory: MemoryAccess, block: int, *, stall_timeout: float = 10.0) -> None:
        """Raises BoardError when there is no control block at `block`, or one that cannot be right."""
        id_, ups, downs = _HEADER.unpack(memory.read(block, _HEADER.size))
        if id_ != BLOCK_ID:
            raise BoardError(
                f"there is no RTT control block at {block:#x}",
                hint="the firmware has not started, or was built from other sources than the ELF: flash again",
            )
        if not (1 <= ups <= _RINGS_MAX and 1 <= downs <= _RINGS_MAX):
            raise BoardError(
                f"the RTT control block at {block:#x} claims {ups} up and {downs} down rings",
                hint="it is damaged: flash again",
            )
        self._stall_timeout = stall_timeout
        self._up = _Ring(memory, block + _HEADER.size, "up")
        try:
            self._down = _Ring(memory, block + _HEADER.size + ups * _RING.size, "down")
        except BoardError:
            self._up.release()
            raise
        self._closed = False
        self._pause = _PAUSE_MIN
        self._last_moved = time.monotonic()

    @classmethod
    def attach(
        cls, memory: MemoryAccess, block: int, *, timeout: float, check: Callable[[], None] | None = None
    ) -> RttTransport:
        """Waits up to `timeout` seconds for the firmware to set the control block up.

        `check` is called while waiting and may raise, for a board that can be seen to have died.
        Raises BoardError when no block appears, and at once for one that cannot be right.
        """
        end = time.monotonic() + timeout
        pause = _PAUSE_MIN
        while memory.read(block, len(BLOCK_ID)) != BLOCK_ID:
            if check is not None:
                check()
            if time.monotonic() >= end:
                raise BoardError(
                    f"the firmware did not set up its RTT control block at {block:#x} within {timeout:g} s",
                    hint="it stopped before it could talk: look at the UART output",
                )
            time.sleep(pause)
            pause = min(2 * pause, _PAUSE_MAX)
        return cls(memory, block)

    def read(self, timeout: float) -> bytes:
        """See Transport.

        Looks at the ring every 0.2 ms at first, every 2 ms when nothing comes, every 10 ms after a second of that.
        """
        end = time.monotonic() + timeout
        while True:
            self._check_open()
            data = self._up.take()
            now = time.monotonic()
            if data:
                self._stir(now)
                return data
            left = end - now
            if left <= 0:
                return b""
            time.sleep(min(self._pause, left))
            longest = _PAUSE_MAX if now - self._last_moved < _REST_AFTER else _PAUSE_AT_REST
            self._pause = min(2 * self._pause, longest)

    def write(self, data: bytes) -> None:
        """See Transport."""
        rest = memoryview(data)
        end = time.monotonic() + self._stall_timeout
        pause = _PAUSE_MIN
        while rest:
            self._check_open()
            count = self._down.put(rest)
            rest = rest[count:]
            if count:
                now = time.monotonic()
                self._stir(now)  # an answer is due
                end = now + self._stall_timeout
                pause = _PAUSE_MIN
            elif time.monotonic() >= end:
                raise BoardError(
                    f"the board has not read its command ring for {self._stall_timeout:g} s",
                    hint="the firmware has stopped or is in a loop: halt it and look at its PC",
                )
            elif rest:
                time.sleep(pause)
                pause = min(2 * pause, _PAUSE_MAX)

    def close(self) -> None:
        """See Transport. Not to be called while another thread is in `read` or `write`."""
        if not self._closed:
            self._closed = True
            self._up.release()
            self._down.release()

    def _stir(self, now: float) -> None:
        """Bytes have moved: look often again."""
        self._last_moved = now
        self._pause = _PAUSE_MIN

    def _check_open(self) -> None:
        if self._closed:
            raise BoardError("the link is closed")
