# SPDX-License-Identifier: Apache-2.0
"""What the set-up check says about a host that lacks something."""

from __future__ import annotations

import shutil
import types
from pathlib import Path

import pytest

from maxconsole.errors import ToolMissing
from maxconsole.session import checkup
from maxconsole.session.checkup import Finding


@pytest.fixture(autouse=True)
def a_host_that_has_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path))
    monkeypatch.setattr(checkup, "find_qemu", lambda: types.SimpleNamespace(version="9.1", path="qemu"))
    monkeypatch.setattr(checkup, "find_toolchain", lambda: types.SimpleNamespace(version="gcc 13"))
    monkeypatch.setattr(checkup, "find_compiler", lambda: types.SimpleNamespace(version="cc 13"))
    monkeypatch.setattr(checkup, "build_plugin", lambda version: Path("timing.so"))
    monkeypatch.setattr(checkup, "available_memory", lambda: 8 << 30)


def finding(name: str) -> Finding:
    return next(one for one in checkup.checkup() if one.name == name)


def test_a_complete_host_lacks_nothing_and_may_fetch_the_demo_model() -> None:
    findings = checkup.checkup()
    assert {one.state for one in findings} == {"fine", "note"}
    assert [one.name for one in findings if one.state == "note"] == ["demo model"]
    assert "fetch-demo" in finding("demo model").hint


def test_a_missing_tool_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ToolMissing("qemu-system-aarch64 is not installed", hint="apt install qemu-system-arm")

    monkeypatch.setattr(checkup, "find_qemu", missing)
    assert finding("emulator") == Finding(
        "emulator", "missing", "qemu-system-aarch64 is not installed", "apt install qemu-system-arm"
    )
    assert finding("cross compiler").state == "fine"


def test_too_little_memory_and_disk_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "available_memory", lambda: 1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: types.SimpleNamespace(free=1 << 20))
    assert finding("memory").state == "missing"
    assert finding("cache").state == "missing"
