# SPDX-License-Identifier: Apache-2.0
"""Finding the emulator, building the plug-in, telling it about the board."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from maxconsole.boards import Board, MemoryRange
from maxconsole.errors import BoardError, ToolMissing, UserError
from maxconsole.virtual.compiler import Compiler, build_plugin, find_compiler
from maxconsole.virtual.plugin import plugin_arguments, plugin_option, read_report
from maxconsole.virtual.qemu import find_qemu


def executable(path: Path, script: str) -> Path:
    path.write_text("#!/bin/sh\n" + script, "ascii")
    path.chmod(0o755)
    return path


def answering(folder: Path, version: str, cpus: str = "cortex-a76", options: str = "-plugin file") -> Path:
    """A program that answers like an emulator of `version`."""
    return executable(
        folder / "qemu-system-aarch64",
        f'case "$*" in *--version*) echo "QEMU emulator version {version} (Some build)";;'
        f' *-cpu*) echo "Available CPUs:"; echo "  {cpus}";; *) echo "{options}";; esac\n',
    )


@pytest.fixture
def only_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("MAXCONSOLE_QEMU", raising=False)
    monkeypatch.delenv("CC", raising=False)
    return folder


def test_a_missing_emulator_is_named_with_the_package_to_install(only_path: Path) -> None:
    with pytest.raises(ToolMissing, match="qemu-system-aarch64 is not installed") as caught:
        find_qemu()
    assert "apt install qemu-system-arm" in caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("version", ["6.2.0", "7.1.0", "2.11"])
def test_an_old_emulator_is_refused_with_both_versions(only_path: Path, version: str) -> None:
    answering(only_path, version)
    with pytest.raises(ToolMissing, match=rf"is version {version}; 7.2 or newer"):
        find_qemu()


@pytest.mark.parametrize("version", ["7.2.22", "8.0.0", "10.0.13"])
def test_newer_emulators_are_taken(only_path: Path, version: str) -> None:
    answering(only_path, version)
    assert find_qemu().version == version


def test_an_emulator_without_the_core_is_refused(only_path: Path) -> None:
    answering(only_path, "7.2.0", cpus="cortex-a57")
    with pytest.raises(ToolMissing, match="does not emulate cortex-a76"):
        find_qemu()


def test_an_emulator_without_plugins_is_refused(only_path: Path) -> None:
    answering(only_path, "7.2.0", options="-help")
    with pytest.raises(ToolMissing, match="without plug-ins"):
        find_qemu()


def test_an_emulator_that_fails_is_quoted(only_path: Path) -> None:
    executable(only_path / "qemu-system-aarch64", "echo cannot load libfdt.so.1 >&2; exit 127\n")
    with pytest.raises(ToolMissing, match=r"failed: cannot load libfdt\.so\.1"):
        find_qemu()


def test_the_environment_can_name_the_emulator(
    only_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = answering(tmp_path, "9.9.1")
    monkeypatch.setenv("MAXCONSOLE_QEMU", str(mine))
    assert find_qemu().path == mine
    monkeypatch.setenv("MAXCONSOLE_QEMU", str(tmp_path / "none"))
    with pytest.raises(ToolMissing, match="MAXCONSOLE_QEMU"):
        find_qemu()


def test_without_a_compiler_the_package_is_named(only_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolMissing, match="no C compiler") as caught:
        find_compiler()
    assert "apt install gcc" in caught.value.hint


def test_the_plugin_compiles_without_warnings_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path))
    found = find_compiler()
    strict = Compiler((*found.command, "-Werror"), found.version)
    built = build_plugin("7.2.22", strict)
    stamp = built.stat().st_mtime_ns
    assert build_plugin("7.2.22", strict) == built
    assert built.stat().st_mtime_ns == stamp


def test_compiler_messages_reach_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path))
    broken = executable(tmp_path / "broken-cc", "echo 'block.c:7: error: no such thing' >&2; exit 1\n")
    with pytest.raises(UserError, match=r"does not compile with broken 1\.0:\nblock\.c:7: error: no such thing"):
        build_plugin("7.2.22", Compiler((str(broken),), "broken 1.0"))
    assert not list(tmp_path.rglob("*.so"))


def test_arguments_come_from_the_profile(virtual_board: Board, tmp_path: Path) -> None:
    arguments = plugin_arguments(
        virtual_board,
        ram_path="/proc/self/fd/9",
        report=tmp_path,
        parent=7,
        uncached=[MemoryRange(0x8500_0000, 4096)],
        transient=[MemoryRange(0x9000_0000, 8192)],
    )
    assert arguments["l1d"] == "65536:4:4"
    assert arguments["l2"] == "524288:8:12"
    assert "l3" not in arguments
    assert arguments["uncached"] == ["0x85000000:0x1000"]
    assert arguments["transient"] == ["0x90000000:0x2000"]
    assert arguments["dram_latency_cycles"] == "281"
    assert len(str(arguments["events"]).split(":")) == len(virtual_board.pmu.events)


def test_commas_in_paths_survive_the_option_syntax() -> None:
    option = plugin_option(Path("/a,b/x.so"), {"report": "/c,d", "uncached": ["1:2", "3:4"]})
    assert option == "/a,,b/x.so,report=/c,,d,uncached=1:2,uncached=3:4"


def test_a_damaged_report_is_an_error(tmp_path: Path) -> None:
    report = tmp_path / "report"
    for text in ("", "model_version x\n", "model_version 1\n"):
        report.write_text(text)
        with pytest.raises(BoardError, match="cannot be read"):
            read_report(report)
    with pytest.raises(BoardError, match="cannot be read"):
        read_report(tmp_path / "none")


def test_the_interpreter_itself_is_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", f"{sys.executable} --no-such-option")
    assert find_compiler().command != (sys.executable, "--no-such-option")
