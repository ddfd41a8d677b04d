# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxconsole.errors import UserError
from maxconsole.firmware.objects import CompiledObject, ObjectStore, Snapshot, parse_dependencies
from maxconsole.firmware.toolchain import Toolchain

PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r:\\\0", exclude_categories=("C", "Z")), min_size=1)


@given(st.lists(st.lists(PATHS, min_size=1, max_size=3).map(" ".join), min_size=1, unique=True))
def test_dependencies_survive_the_escapes_of_make(names: list[str]) -> None:
    escaped = [name.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ") for name in names]
    assert parse_dependencies("out: " + " \\\n ".join(escaped) + "\n") == names


class Store:
    """An object store whose compiler copies the source, and may edit files while it runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "firmware").mkdir(parents=True)
        (root / "objects").mkdir()
        (root / "config").mkdir()
        self.write("a.c", "one")
        self.write("a.h", "header")
        self.edits: list[tuple[str, str]] = []
        self.runs = 0

    def write(self, name: str, text: str) -> None:
        (self.root / "firmware" / name).write_text(text)

    def compile(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        self.runs += 1
        text = (folder / "firmware/a.c").read_text() + (folder / "firmware/a.h").read_text()
        Path(command[command.index("-o") + 1]).write_text(text)
        Path(command[command.index("-MF") + 1]).write_text("out: firmware/a.c firmware/a.h\n")
        if self.edits:
            self.write(*self.edits.pop(0))
        return subprocess.CompletedProcess(list(command), 0, "", "")

    def get(self, *options: str) -> CompiledObject:
        tools = Toolchain("gcc", ("cc", *options), ("cc",), "1.0")
        snapshot = Snapshot(self.root, "firmware", self.root / "config")
        found = ObjectStore(self.root / "objects", tools, snapshot, self.compile).get("firmware/a.c", ())
        assert isinstance(found, CompiledObject)
        return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_an_object_is_compiled_once(store: Store) -> None:
    assert not store.get().reused
    assert store.get().reused
    assert store.runs == 1


def test_options_that_come_with_the_compilers_name_count(store: Store) -> None:
    assert store.get().path != store.get("-O0").path
    assert store.runs == 2


def test_a_header_saved_while_the_compiler_runs_does_not_end_up_in_an_old_object(store: Store) -> None:
    store.edits = [("a.h", "edited")]
    assert store.get().path.read_text() == "oneedited"
    assert store.runs == 2
    assert store.get().reused
    store.write("a.h", "header")
    assert store.get().path.read_text() == "oneheader"


def test_a_source_that_never_stops_changing_is_reported(store: Store) -> None:
    store.edits = [("a.c", str(number)) for number in range(10)]
    with pytest.raises(UserError, match="keeps changing"):
        store.get()
