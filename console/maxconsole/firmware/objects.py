# SPDX-License-Identifier: Apache-2.0
"""A store of object files, found again by the content of everything that they were made from.

An object's key covers the compiler, its flags, the source and every header that the compiler read. Which headers those
are is only known after the first compilation: that list is kept beside the objects under a key of its own.
Files appear under their final name by a rename, so that any number of builds may share the store.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
    output: str = ""


@dataclass(slots=True)
class Snapshot:
    """Digests of source files, each read once in a build; names are relative to `root` or start with `generated/`."""

    root: Path
    config: Path
    _known: dict[str, str] = field(default_factory=dict)

    def digest(self, name: str) -> str | None:
        """SHA-1 of the file, or None where there is none."""
        if name not in self._known:
            current = self._read(name)
            if current is None:
                return None
            self._known[name] = current
        return self._known[name]

    def changed(self, names: Sequence[str]) -> bool:
        """True if a file is no longer what its digest says; the digest is then renewed."""
        differs = False
        for name in names:
            current = self._read(name)
            if current != self._known.get(name):
                differs = True
                if current is None:
                    self._known.pop(name, None)
                else:
                    self._known[name] = current
        return differs

    def relative(self, path: str) -> str:
        """A path from a dependency file as a name; absolute for files outside both folders."""
        if path.startswith(f"{self.config}/"):
            return f"{CONFIG_PREFIX}/{path[len(str(self.config)) + 1 :]}"
        return os.path.normpath(path)

    def _read(self, name: str) -> str | None:
        prefix = f"{CONFIG_PREFIX}/"
        path = self.config / name[len(prefix) :] if name.startswith(prefix) else self.root / name
        try:
            return hashlib.sha1(path.read_bytes()).hexdigest()
        except OSError:
            return None


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
        source_key = self._key(self.toolchain.version, *flags, name, self.snapshot.digest(name) or "")
        headers_file = self.folder / f"{source_key}.headers"
        headers = self._headers(headers_file)
        if headers is not None:
            found = self._path(self._object_key(source_key, headers))
            if found.is_file():
                os.utime(found)
                return CompiledObject(name, found, found.stem, reused=True)
        return self._compile(name, flags, source_key, headers_file)

    def _compile(
        self, name: str, flags: tuple[str, ...], source_key: str, headers_file: Path
    ) -> CompiledObject | subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".compile-") as scratch:
            made, dependencies = Path(scratch) / "out.o", Path(scratch) / "out.d"
            command = (
                *self.toolchain.compile_command,
                *flags,
                f"-ffile-prefix-map={self.snapshot.config}={CONFIG_PREFIX}",
                f"-ffile-prefix-map={self.snapshot.root}=.",
                f"-I{name.partition('/')[0]}",
                f"-I{self.snapshot.config}",
                *("-MMD", "-MF", str(dependencies), "-MT", "out"),
                *("-c", name, "-o", str(made)),
            )
            for attempt in range(_ATTEMPTS):
                result = self.run(command, self.snapshot.root)
                if result.returncode != 0:
                    return result
                headers = [self.snapshot.relative(path) for path in parse_dependencies(dependencies.read_text())]
                first_seen = [header for header in headers if self.snapshot.digest(header) is None]
                # Saved by an editor while the compiler was reading: the object may hold either state.
                if not self.snapshot.changed(headers) and not first_seen:
                    break
                if attempt == _ATTEMPTS - 1:
                    raise OSError(f"{name} or one of its headers keeps changing while it is compiled")
                source_key = self._key(self.toolchain.version, *flags, name, self.snapshot.digest(name) or "")
                headers_file = self.folder / f"{source_key}.headers"
            final = self._path(self._object_key(source_key, headers))
            made.replace(final)
            listing = Path(scratch) / "headers"
            listing.write_text("\n".join(headers))
            listing.replace(headers_file)
        return CompiledObject(name, final, final.stem, reused=False, output=result.stderr)

    def _headers(self, file: Path) -> list[str] | None:
        try:
            return file.read_text().splitlines()
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
