# SPDX-License-Identifier: Apache-2.0
"""Guest RAM without a guest."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.boards import MemoryRange
from maxconsole.errors import BoardError, DoesNotFit
from maxconsole.virtual import ram as ram_module
from maxconsole.virtual.loading import union
from maxconsole.virtual.ram import GuestRam, available_memory

BASE, SIZE = 0x4000_0000, 1 << 20


@pytest.fixture(params=["anonymous", "in a folder"])
def ram(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GuestRam]:
    made = GuestRam(BASE, SIZE, None if request.param == "anonymous" else tmp_path)
    yield made
    made.close()


def test_bytes_are_where_they_were_written(ram: GuestRam) -> None:
    ram.write(BASE + 5, b"hello")
    ram.write(BASE + SIZE - 1, b"!")
    assert ram.read(BASE + 4, 7) == b"\0hello\0"
    view = ram.view(BASE + SIZE - 2, 2)
    assert bytes(view) == b"\0!"
    view[0] = 7
    assert ram.read(BASE + SIZE - 2, 1) == b"\x07"


@pytest.mark.parametrize(("address", "size"), [(BASE - 1, 1), (BASE + SIZE, 1), (BASE, SIZE + 1), (0, 4), (BASE, -1)])
def test_what_is_outside_is_an_error(ram: GuestRam, address: int, size: int) -> None:
    with pytest.raises(BoardError, match="is not in the board's RAM"):
        ram.view(address, size)


def test_clearing_gives_zeros_and_keeps_views(ram: GuestRam) -> None:
    view = ram.view(BASE, SIZE)
    view[:] = b"\xff" * SIZE
    ram.clear()
    assert view[0] == view[SIZE - 1] == 0
    ram.write(BASE, b"new")
    assert bytes(view[:3]) == b"new"


def test_the_file_has_no_name_and_is_private(ram: GuestRam) -> None:
    status = os.fstat(ram.descriptor)
    assert status.st_nlink == 0
    assert stat.S_IMODE(status.st_mode) == 0o600


def test_closing_twice_is_harmless_and_use_after_it_is_an_error(ram: GuestRam) -> None:
    held = ram.view(BASE, 4)
    ram.close()
    ram.close()
    assert bytes(held) == b"\0\0\0\0"
    with pytest.raises(BoardError, match="closed"):
        ram.read(BASE, 1)


def test_too_little_memory_is_refused_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ram_module, "available_memory", lambda: 300 << 20)
    made = GuestRam(BASE, 1 << 30)
    made.make_room([MemoryRange(BASE, 100 << 20)])
    with pytest.raises(DoesNotFit, match=r"needs 200\.0 MiB of memory, and 172\.0 MiB is free"):
        made.make_room([MemoryRange(BASE, 200 << 20)])
    made.close()


def test_available_memory_is_plausible() -> None:
    assert 1 << 20 < available_memory() < 1 << 50


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True, check=False, timeout=10
    )
    if mounted.returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True, timeout=10)


def test_a_full_file_system_is_refused_with_numbers(tiny_folder: Path) -> None:
    made = GuestRam(BASE, 64 << 20, tiny_folder)
    made.make_room([MemoryRange(BASE, 512 << 10)])
    with pytest.raises(DoesNotFit, match=r"needs 8\.0 MiB in .*, and 512\.0 KiB is free there") as caught:
        made.make_room([MemoryRange(BASE, 8 << 20)])
    assert caught.value.exit_code == 5
    made.close()


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_a_union_covers_the_same_addresses_once(parts: list[tuple[int, int]]) -> None:
    merged = union([MemoryRange(base, size) for base, size in parts])
    covered = [address for part in merged for address in range(part.base, part.end)]
    assert sorted(set(covered)) == covered
    assert set(covered) == {address for base, size in parts for address in range(base, base + size)}
