# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from firmware_tree import Builder, FirmwareTree

from maxconsole.boards import Board, Plan, load_board, plan_unbound
from maxconsole.errors import ToolMissing
from maxconsole.firmware.toolchain import Toolchain, find_toolchain


@pytest.fixture
def tree(tmp_path: Path) -> FirmwareTree:
    return FirmwareTree(tmp_path / "source tree" / "firmware")  # the space is there on purpose


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    folder = tmp_path / "user cache"
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except ToolMissing as error:
        pytest.skip(error.what)


@pytest.fixture(scope="session")
def board() -> Board:
    return load_board("aimax395-virtual")


@pytest.fixture(scope="session")
def unbound(board: Board) -> Plan:
    return plan_unbound(board)


@pytest.fixture
def builder(tree: FirmwareTree, board: Board, unbound: Plan, toolchain: Toolchain, cache: Path) -> Builder:
    return Builder(tree, board, unbound, toolchain)


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared cache")


@pytest.fixture
def warm_builder(builder: Builder, warm_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    """A builder whose cache other tests have filled: for tests that do not count what was compiled."""
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(warm_cache))
    return builder
