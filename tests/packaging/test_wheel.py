# SPDX-License-Identifier: Apache-2.0
"""The wheel, installed in an empty environment, away from the checkout: it builds the firmware, and that boots."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.system


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Standard output of a command that must succeed, run far from the checkout and without its Python path."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=folder, env=clean | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, CHECKOUT)
    run(*command, folder=folder)
    (file,) = folder.glob("maxconsole-*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, folder=folder)
    return python


def test_the_wheel_holds_sources_and_profiles_and_no_leavings(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "maxconsole/_bundled/firmware/link.ld.in" in names
    assert "maxconsole/_bundled/firmware/arch/start.S" in names
    assert "maxconsole/_bundled/firmware/virtual/plugin.c" in names
    assert "maxconsole/_bundled/profiles/boards/aimax395-virtual.toml" in names
    assert "maxconsole/py.typed" in names
    leavings = ("__pycache__", ".pyc", ".o", ".elf", ".so", ".gguf", ".orig", "~")
    assert [name for name in names if name.endswith(leavings) or "__pycache__" in name] == []
    assert not [name for name in names if name.startswith(("tests/", "docs/", "scripts/"))]


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 5 << 20


def test_every_file_of_the_firmware_that_is_tracked_is_in_the_wheel(wheel: Path) -> None:
    listed = subprocess.run(
        ("git", "ls-files", "firmware", "profiles"), cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("this is not a git checkout")
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = [name for name in listed.stdout.split() if (CHECKOUT / name).is_file()]
    assert [name for name in tracked if f"maxconsole/_bundled/{name}" not in names] == []


@pytest.mark.skipif(shutil.which("aarch64-linux-gnu-gcc") is None, reason="no compiler for AArch64 is installed")
@pytest.mark.skipif(shutil.which("qemu-system-aarch64") is None, reason="no emulator is installed")
def test_the_installed_package_builds_its_firmware_and_the_board_boots_it(installed: Path, tmp_path: Path) -> None:
    program = shutil.copy(Path(__file__).with_name("boot_installed.py"), tmp_path)
    facts = json.loads(run(installed, program, folder=tmp_path, MAXCONSOLE_CACHE=str(tmp_path / "cache")))
    assert str(CHECKOUT) not in facts["package"]
    assert (facts["board"], facts["modelled"]) == ("aimax395-virtual", True)
    assert facts["build_id"] == facts["image"]["build_id"]
    assert str(CHECKOUT).encode() not in Path(facts["image"]["path"]).read_bytes()


def test_the_command_works_where_it_is_installed(installed: Path, tmp_path: Path) -> None:
    listed = run(installed.parent / "maxconsole", "boards", "--json", folder=tmp_path)
    assert "aimax395-virtual" in listed
