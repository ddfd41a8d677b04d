# SPDX-License-Identifier: Apache-2.0
"""Builds a firmware image for a board and a memory plan: compile in parallel, link, check, keep.

Nothing is written beside the sources. Results live in the user's cache, one folder for each build id, and a build
whose inputs are all known only reads them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from maxconsole import paths
from maxconsole.boards import Board, Plan
from maxconsole.errors import UserError
from maxconsole.firmware.checks import check_image
from maxconsole.firmware.configuration import board_config, linker_script
from maxconsole.firmware.diagnostics import CompileError, parse_compiler, parse_linker
from maxconsole.firmware.elf import read_elf
from maxconsole.firmware.objects import CONFIG_PREFIX, CompiledObject, ObjectStore, Snapshot
from maxconsole.firmware.process import Runner
from maxconsole.firmware.sources import Image, compile_flags, list_sources
from maxconsole.firmware.toolchain import Toolchain, find_toolchain

Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and the name of the step that was finished; always from the caller's thread."""

_LINK_OPTIONS = (
    "--gc-sections",
    "--orphan-handling=error",
    "--fatal-warnings",
    *("-z", "noexecstack"),
    *("-z", "max-page-size=4096"),
    *("-z", "separate-code"),
)
_KEEP_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class BuiltFirmware:
    """A linked image. `build_id` is the SHA-1 in its note; `reused` objects came from the cache, `compiled` did not."""

    elf: Path
    build_id: str
    board: str
    image: Image
    toolchain: str
    compiled: int
    reused: int
    seconds: float


def build(
    board: Board,
    plan: Plan,
    image: Image = "engine",
    *,
    defines: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    toolchain: Toolchain | None = None,
    sources: Path | None = None,
) -> BuiltFirmware:
    """The firmware of `board`, linked for `plan`.

    `defines` become `-DNAME=VALUE`. `sources` replaces the bundled firmware folder. Setting `cancel` stops the running
    compilers. Raises ToolMissing, CompileError, ProfileError for facts that the profile leaves unknown, and UserError
    when cancelled or when the disk is full.
    """
    cache = paths.cache_dir("build")
    try:
        return _build(
            _Request(board, plan, image, defines or {}, (sources or paths.firmware_dir()).resolve()),
            toolchain or find_toolchain(),
            cache,
            Runner(cancel or threading.Event()),
            progress or _silent,
        )
    except OSError as error:
        raise UserError(
            f"the build failed in {cache}: {error}", hint="MAXCONSOLE_CACHE names another folder"
        ) from error


@dataclass(frozen=True, slots=True)
class _Request:
    board: Board
    plan: Plan
    image: Image
    defines: Mapping[str, str]
    sources: Path


def _silent(done: int, total: int, name: str) -> None:
    pass


def _build(request: _Request, tools: Toolchain, cache: Path, runner: Runner, progress: Progress) -> BuiltFirmware:
    started = time.monotonic()
    board, plan, image, root = request.board, request.plan, request.image, request.sources
    config = _write_config(cache, board_config(board, plan))
    names = list_sources(root, board, image)
    objects_folder = cache / "objects"
    objects_folder.mkdir(exist_ok=True)
    store = ObjectStore(objects_folder, tools, Snapshot(root.parent, root.name, config), runner.run)
    total = len(names) + 1
    flags = {name: compile_flags(name, tools, board, request.defines) for name in names}
    objects = _compile_all(store, runner, flags, lambda done, name: progress(done, total, name))
    script = linker_script((root / "link.ld.in").read_text("utf-8"), board, plan)
    build_id = _build_id(tools, script, objects)
    folder = cache / "images" / build_id
    if not (folder / "firmware.elf").is_file():
        _link(tools, runner, script, objects, folder=folder, check=lambda elf: check_image(read_elf(elf), board, plan))
        _forget_old(cache)
    os.utime(folder)
    progress(total, total, "link")
    compiled = sum(not item.reused for item in objects)
    return BuiltFirmware(
        elf=folder / "firmware.elf",
        build_id=build_id,
        board=board.name,
        image=image,
        toolchain=tools.version,
        compiled=compiled,
        reused=len(objects) - compiled,
        seconds=time.monotonic() - started,
    )


def _write_config(cache: Path, text: str) -> Path:
    """A folder that holds `board_config.h` with this text, and that no other text will ever use."""
    folder = cache / "config" / hashlib.sha1(text.encode()).hexdigest()
    file = folder / "board_config.h"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as scratch:
            scratch.write(text)
        Path(scratch.name).replace(file)
    return folder


def _compile_all(
    store: ObjectStore,
    runner: Runner,
    flags: Mapping[str, tuple[str, ...]],
    report: Callable[[int, str], None],
) -> list[CompiledObject]:
    """Objects of all sources, in the order of their names. Raises CompileError with the messages of all that fail."""
    objects: list[CompiledObject] = []
    failures: list[str] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = {pool.submit(store.get, f"{store.snapshot.tree}/{name}", flags[name]): name for name in flags}
        try:
            for done, job in enumerate(as_completed(jobs), 1):
                result = job.result()
                if isinstance(result, CompiledObject):
                    objects.append(result)
                else:
                    failures.append(result.stderr)
                report(done, jobs[job])
        except BaseException:
            runner.stop()
            pool.shutdown(cancel_futures=True)
            raise
    if failures:
        output = "\n".join(failures).replace(str(store.snapshot.config), CONFIG_PREFIX)
        raise CompileError("the firmware does not compile", parse_compiler(output), output)
    return sorted(objects, key=lambda item: item.name)


def _build_id(tools: Toolchain, script: str, objects: list[CompiledObject]) -> str:
    parts = [tools.version, *tools.link_command[1:], *_LINK_OPTIONS, script, *(item.key for item in objects)]
    return hashlib.sha1("\0".join(parts).encode()).hexdigest()


def _link(
    tools: Toolchain,
    runner: Runner,
    script: str,
    objects: list[CompiledObject],
    *,
    folder: Path,
    check: Callable[[Path], None],
) -> None:
    """Links into a scratch folder and, if `check` passes, renames that to `folder`, whose name is the build id."""
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".link-") as name:
        scratch = Path(name) / "image"
        scratch.mkdir()
        (scratch / "link.ld").write_text(script)
        options = (*_LINK_OPTIONS, f"--build-id=0x{folder.name}", "-Map=firmware.map")
        command = (
            *tools.link_command,
            *(f"{tools.linker_prefix}{option}" for option in options),
            *("-T", "link.ld", "-o", "firmware.elf"),
            *(str(item.path) for item in objects),
        )
        result = runner.run(command, scratch)
        if result.returncode != 0:
            output = _with_source_names(result.stderr, objects)
            raise CompileError("the firmware does not link", parse_linker(output), output)
        check(scratch / "firmware.elf")
        try:
            scratch.rename(folder)
        except OSError:
            if not (folder / "firmware.elf").is_file():  # otherwise another build with the same inputs was faster
                raise


def _with_source_names(output: str, objects: list[CompiledObject]) -> str:
    """The linker's messages with the sources' names in place of the store's hashed ones."""
    for item in objects:
        output = output.replace(f"{item.path}:./{item.name}", item.name).replace(str(item.path), item.name)
    return output


def _forget_old(cache: Path) -> None:
    """Removes what no build has used for a month."""
    limit = time.time() - _KEEP_SECONDS
    for entry in (*(cache / "objects").iterdir(), *(cache / "images").iterdir()):
        try:
            if entry.stat().st_mtime >= limit:
                continue
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink()
        except FileNotFoundError:  # another build tidies up too
            continue


if __name__ == "__main__":
    sys.exit("use: maxconsole build [--checkasm] [--board NAME] [--json]")
