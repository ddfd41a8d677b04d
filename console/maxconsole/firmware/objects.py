# SPDX-License-Identifier: Apache-2.0
"""A store of object files, found again by the content of everything that they were made from.

An object's key covers the compiler, its flags, the source and every header that the compiler read. Which headers those
are is only known after the first compilation: that list is kept beside the objects under a key of its own.
Files appear under their final name by a rename, so that any number of builds may share the store.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from maxconsole.errors import UserError
from maxconsole.firmware.toolchain import Toolchain

CONFIG_PREFIX = "generated"
"""How the folder of generated headers appears in keys, messages and debug information."""
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class CompiledObject:
    """An object file in the store and its key. `reused` is False if the compiler had to run."""

    name: str
    path: Path
    key: str
    reused: bool


@dataclass(slots=True)
class Snapshot:
    """Digests of sources and headers, each file read once in a build.

    Names are relative to `root`, or start with `generated/` for files in `config`. The headers of `tree`, a folder
    below `root`, are read at once, so that a change during a compilation is noticed.
    """

    root: Path
    tree: str
    config: Path
    _known: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for header in (self.root / self.tree).rglob("*.h"):
            self.digest(header.relative_to(self.root).as_posix())
        for header in self.config.glob("*.h"):
            self.digest(f"{CONFIG_PREFIX}/{header.name}")

    def digest(self, name: str) -> str:
        """SHA-1 of the file as it was when first asked for; empty where there is none."""
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def copy(self) -> dict[str, str]:
        return dict(self._known)

    def same(self, before: dict[str, str], names: Sequence[str]) -> bool:
        """True if the files still are what `before`, a copy, says. From now on their present content counts."""
        now = {name: self._read(name) for name in names}
        self._known.update(now)
        return all(before.get(name) == digest for name, digest in now.items())

    def name_of(self, path: str) -> str:
        """A path as the compiler writes it into a dependency file, as a name."""
        if path.startswith(f"{self.config}/"):
            return f"{CONFIG_PREFIX}/{path[len(str(self.config)) + 1 :]}"
        return os.path.normpath(path)

    def _read(self, name: str) -> str:
        folder, _, rest = name.partition("/")
        path = self.config / rest if folder == CONFIG_PREFIX else self.root / name
        try:
            return hashlib.sha1(path.read_bytes()).hexdigest()
        except OSError:
            return ""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Object files below `folder`, for one compiler and one snapshot of the sources."""

    folder: Path
    toolchain: Toolchain
    snapshot: Snapshot
    run: Callable[[Sequence[str], Path], subprocess.CompletedProcess[str]]

    def get(self, name: str, flags: tuple[str, ...]) -> CompiledObject | subprocess.CompletedProcess[str]:
        """The object of source `name`, compiled now if the store has none; the compiler's answer if it fails.

        `name` is relative to the snapshot's root.
        """
        source_key = self._source_key(name, flags)
        headers = self._headers(source_key)
        if headers is not None:
            found = self._path(self._object_key(source_key, headers))
            with contextlib.suppress(FileNotFoundError):
                os.utime(found)
                return CompiledObject(name, found, found.stem, reused=True)
        return self._compile(name, flags)

    def _compile(self, name: str, flags: tuple[str, ...]) -> CompiledObject | subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".compile-") as scratch:
            made, dependencies = Path(scratch) / "out.o", Path(scratch) / "out.d"
            command = (
                *self.toolchain.compile_command,
                *flags,
                f"-ffile-prefix-map={self.snapshot.config}={CONFIG_PREFIX}",
                f"-ffile-prefix-map={self.snapshot.root}=.",
                f"-I{self.snapshot.tree}",
                f"-I{self.snapshot.config}",
                *("-MMD", "-MF", str(dependencies), "-MT", "out"),
                *("-c", name, "-o", str(made)),
            )
            for _ in range(_ATTEMPTS):
                source_key = self._source_key(name, flags)
                before = self.snapshot.copy()
                result = self.run(command, self.snapshot.root)
                if result.returncode != 0:
                    return result
                read = [self.snapshot.name_of(path) for path in parse_dependencies(dependencies.read_text())]
                # A file that an editor saved meanwhile may have been read in either state.
                if self.snapshot.same(before, read):
                    break
            else:
                raise UserError(f"{name} or one of its headers keeps changing while it is compiled")
            headers = [header for header in read if header != name]
            final = self._path(self._object_key(source_key, headers))
            made.replace(final)
            listing = Path(scratch) / "headers"
            listing.write_text("\n".join(headers))
            listing.replace(self._headers_file(source_key))
        return CompiledObject(name, final, final.stem, reused=False)

    def _source_key(self, name: str, flags: tuple[str, ...]) -> str:
        compiler = (self.toolchain.version, *self.toolchain.compile_command[1:])
        return self._key(*compiler, *flags, name, self.snapshot.digest(name))

    def _headers_file(self, source_key: str) -> Path:
        return self.folder / f"{source_key}.headers"

    def _headers(self, source_key: str) -> list[str] | None:
        try:
            return self._headers_file(source_key).read_text().splitlines()
        except OSError:
            return None

    def _object_key(self, source_key: str, headers: Sequence[str]) -> str:
        return self._key(source_key, *(f"{name} {self.snapshot.digest(name)}" for name in sorted(headers)))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.o"

    @staticmethod
    def _key(*parts: str) -> str:
        return hashlib.sha1("\0".join(parts).encode()).hexdigest()


def parse_dependencies(text: str) -> list[str]:
    """Prerequisites of the only rule in a make-style dependency file, as gcc and clang write it."""
    _, _, listing = text.replace("\\\n", " ").partition(":")
    words = re.findall(r"(?:\\.|[^\s\\])+", listing)
    return list(dict.fromkeys(re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$") for word in words))
