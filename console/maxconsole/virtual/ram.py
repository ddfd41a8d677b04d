# SPDX-License-Identifier: Apache-2.0
"""Guest RAM: one anonymous shared file that QEMU, its plug-in and the console map.

The file never has a name: it is a memfd, or an O_TMPFILE file where a folder is chosen, and is passed on as a
descriptor. So nothing is left behind, however any of the processes ends, and no other user can open it. A memfd is
also not subject to the size of /dev/shm, which containers often limit to 64 MB.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

from maxconsole.boards import MemoryRange
from maxconsole.boards.ranges import show_bytes
from maxconsole.errors import BoardError, DoesNotFit

_RESERVE_BYTES = 128 << 20  # QEMU itself, translated code, and air for the rest of the machine


class GuestRam:
    """`size` bytes of zeros at guest physical address `base`. A MemoryAccess (see link.transport).

    Raises DoesNotFit where the file cannot be that large, BoardError where it cannot be made.
    """

    def __init__(self, base: int, size: int, folder: Path | None = None) -> None:
        self.base = base
        self.size = size
        self._folder = folder
        try:
            if folder is None:
                self.descriptor = os.memfd_create("maxconsole-ram", os.MFD_CLOEXEC)
            else:
                self.descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(self.descriptor, 0o600)
                os.ftruncate(self.descriptor, size)
                self._map = mmap.mmap(self.descriptor, size)
            except (OSError, ValueError):
                os.close(self.descriptor)
                raise
        except (OSError, ValueError) as error:
            raise BoardError(f"cannot make {show_bytes(size)} of guest RAM: {error}") from error
        self._view = memoryview(self._map)
        self._closed = False

    @property
    def path_in_child(self) -> str:
        """Where a process that inherited `descriptor` finds the file."""
        return f"/proc/self/fd/{self.descriptor}"

    def make_room(self, parts: Iterable[MemoryRange]) -> None:
        """Makes sure that the host can hold `parts`, which will all be written.

        Sparse memory that turns out not to exist would kill QEMU in the middle of its work. Raises DoesNotFit.
        """
        needed = sum(part.size_bytes for part in parts)
        if self._folder is None:
            free = available_memory() - _RESERVE_BYTES
            if free < needed:
                raise DoesNotFit(
                    f"the virtual board needs {show_bytes(needed)} of memory, and {show_bytes(max(free, 0))} is free",
                    hint="close other programs, or choose a smaller model or context",
                )
            return
        file_system = os.statvfs(self._folder)
        free = file_system.f_bavail * file_system.f_frsize
        message = (
            f"the virtual board needs {show_bytes(needed)} in {self._folder}, and {show_bytes(free)} is free there"
        )
        hint = "choose a smaller model or context; in a container, start it with more (--shm-size=1g)"
        if free < needed:
            raise DoesNotFit(message, hint=hint)
        try:
            for part in parts:
                os.posix_fallocate(self.descriptor, part.base - self.base, part.size_bytes)
        except OSError as error:
            raise DoesNotFit(f"{message} ({error.strerror})", hint=hint) from error

    def read(self, address: int, size: int, /) -> bytes:
        """A copy of `size` bytes at physical `address`."""
        return bytes(self.view(address, size))

    def write(self, address: int, data: bytes | memoryview, /) -> None:
        """Stores `data`. Code that has been executed already stays translated: start again to replace it."""
        self.view(address, memoryview(data).nbytes)[:] = data

    def view(self, address: int, size: int, /) -> memoryview:
        """The memory itself, shared with the guest."""
        if self._closed:
            raise BoardError("the virtual board is closed")
        start = address - self.base
        if size < 0 or not 0 <= start <= self.size - size:
            raise BoardError(
                f"{address:#x}..{address + size:#x} is not in the board's RAM, "
                f"{self.base:#x}..{self.base + self.size:#x}"
            )
        return self._view[start : start + size]

    def clear(self) -> None:
        """Zeros everywhere, and the host's memory given back; views stay valid. Only while no guest runs."""
        self._map.madvise(mmap.MADV_REMOVE)

    def close(self) -> None:
        """Lets go of the file. Views that are still held keep its memory until they are gone."""
        if self._closed:
            return
        self._closed = True
        os.close(self.descriptor)
        with contextlib.suppress(BufferError):
            self._view.release()
            self._map.close()


def available_memory() -> int:
    """Bytes that can be used without swapping, by /proc/meminfo and the limit of this process's control group."""
    available = 1 << 62
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) << 10
    with contextlib.suppress(OSError, ValueError):
        group = next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        folder = Path("/sys/fs/cgroup") / group.strip("/")
        limit = (folder / "memory.max").read_text().strip()
        if limit != "max":
            available = min(available, int(limit) - int((folder / "memory.current").read_text()))
    return available
