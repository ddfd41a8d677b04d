# SPDX-License-Identifier: Apache-2.0
"""Keeps packed images in the user's cache, by the content of the model file that they come from.

The content's digest takes 0.2 s for 100 MB, so it is remembered beside the images under the file's path, size and
times; a file that was touched is hashed again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from maxconsole import paths
from maxconsole.errors import UserError
from maxconsole.models.image import DamagedImageError, WeightImage, read_image
from maxconsole.models.image_writer import Progress, write_image
from maxconsole.models.layout import ImageLayout, lay_out
from maxconsole.models.reader import GgufFile
from maxconsole.schema.image import IMAGE_VERSION

#: changes whenever the packer writes other bytes for the same file and IMAGE_VERSION
_PACKER_VERSION: Final = 6
_DIGEST_BYTES: Final = 16
_LEFTOVER_AGE_S: Final = 3600
_TEMPORARY: Final = ".partial"


def weight_image(file: GgufFile, layout: ImageLayout | None = None, progress: Progress | None = None) -> WeightImage:
    """The packed image of a model file, from the cache where it is intact, packed anew where it is not.

    `progress(done, total)` is called for every few MB that are packed; an exception that it raises cancels the work
    and leaves no file behind. Raises UserError for a model that cannot be packed and a cache that cannot be written.
    """
    folder = paths.cache_dir("images")
    path = folder / image_name(file)
    with contextlib.suppress(DamagedImageError, FileNotFoundError):
        if path.is_file():
            return read_image(path)
    layout = layout or lay_out(file)
    with _replacing(path) as out:
        write_image(file, layout, out, progress or _silent)
    try:
        return read_image(path)
    except DamagedImageError as error:
        raise UserError(f"the packed image {path} does not read back: {error}", hint="check the disk") from error


def image_name(file: GgufFile) -> str:
    """File name of the image: the model's name for the reader, digest and versions for the machine."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", file.path.stem)[:48].strip("-.") or "model"
    return f"{readable}-{content_digest(file.path)}-v{IMAGE_VERSION}.{_PACKER_VERSION}.weights"


def content_digest(path: Path) -> str:
    """BLAKE2b of the whole file in hex. Raises UserError where it cannot be read."""
    path = path.resolve()
    notes = paths.cache_dir("digests")
    try:
        stat = path.stat()
        key = f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ctime_ns}\0{stat.st_ino}"
        note = notes / hashlib.blake2b(key.encode(errors="surrogateescape"), digest_size=_DIGEST_BYTES).hexdigest()
        known = _read_note(note)
        if known is not None:
            return known
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES)).hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    with _replacing(note) as out:
        out.write(json.dumps({"path": str(path), "blake2b": digest}).encode())
    return digest


def _read_note(note: Path) -> str | None:
    """A remembered digest; None where there is none that makes sense."""
    try:
        digest = json.loads(note.read_bytes())["blake2b"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    valid = isinstance(digest, str) and re.fullmatch(f"[0-9a-f]{{{2 * _DIGEST_BYTES}}}", digest)
    return digest if valid else None


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file that becomes `path` when the block ends well, and is removed when it does not."""
    _sweep(path.parent)
    try:
        handle, name = tempfile.mkstemp(suffix=_TEMPORARY, dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w+b") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        hint = "set MAXCONSOLE_CACHE to a folder with more room" if error.errno == errno.ENOSPC else ""
        raise UserError(f"cannot write {path}: {error.strerror}", hint=hint) from error


def _sweep(folder: Path) -> None:
    """Removes what a killed process left behind."""
    for leftover in folder.glob(f"*{_TEMPORARY}"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _LEFTOVER_AGE_S:
                leftover.unlink()


def _silent(done: int, total: int) -> None:
    """No progress wanted."""
