# SPDX-License-Identifier: Apache-2.0
"""Board memory in a bytearray, with an RTT control block, and the board's side of both rings."""

from __future__ import annotations

import struct

from maxconsole.errors import BoardError

BASE = 0x8000_0000
BLOCK = BASE + 0x100
UP_BUFFER = BASE + 0x400
DOWN_BUFFER = BASE + 0x2000
SIZE = 0x4000
_UP_RING = BLOCK - BASE + 24
_DOWN_RING = _UP_RING + 32


class BoardMemory:
    """A MemoryAccess. `shared` decides whether it hands out views."""

    def __init__(self, *, shared: bool, up_bytes: int = 64, down_bytes: int = 64) -> None:
        self.data = bytearray(SIZE)
        self.shared = shared
        struct.pack_into("<QQIIII", self.data, _UP_RING, 0, UP_BUFFER, up_bytes, 0, 0, 0)
        struct.pack_into("<QQIIII", self.data, _DOWN_RING, 0, DOWN_BUFFER, down_bytes, 0, 0, 0)
        struct.pack_into("<16sii", self.data, BLOCK - BASE, b"SEGGER RTT", 1, 1)
        self.up_bytes, self.down_bytes = up_bytes, down_bytes

    def read(self, address: int, size: int, /) -> bytes:
        start = self._offset(address, size)
        return bytes(self.data[start : start + size])

    def write(self, address: int, data: bytes, /) -> None:
        start = self._offset(address, len(data))
        self.data[start : start + len(data)] = data

    def view(self, address: int, size: int, /) -> memoryview | None:
        start = self._offset(address, size)
        return memoryview(self.data)[start : start + size] if self.shared else None

    def _offset(self, address: int, size: int) -> int:
        if not BASE <= address <= BASE + SIZE - size:
            raise BoardError(f"{address:#x} is not memory")
        return address - BASE

    def board_writes(self, data: bytes) -> bytes:
        """Appends what fits to the up ring, as firmware does; returns the rest."""
        write, read = struct.unpack_from("<II", self.data, _UP_RING + 20)
        while data and (write + 1) % self.up_bytes != read:
            self.data[UP_BUFFER - BASE + write] = data[0]
            data, write = data[1:], (write + 1) % self.up_bytes
        struct.pack_into("<I", self.data, _UP_RING + 20, write)
        return data

    def board_reads(self) -> bytes:
        """Takes everything out of the down ring, as firmware does."""
        write, read = struct.unpack_from("<II", self.data, _DOWN_RING + 20)
        taken = bytearray()
        while read != write:
            taken.append(self.data[DOWN_BUFFER - BASE + read])
            read = (read + 1) % self.down_bytes
        struct.pack_into("<I", self.data, _DOWN_RING + 24, read)
        return bytes(taken)

    def patch(self, offset_in_block: int, data: bytes) -> None:
        """Overwrites part of the control block."""
        start = BLOCK - BASE + offset_in_block
        self.data[start : start + len(data)] = data
