# SPDX-License-Identifier: Apache-2.0
"""Where maxconsole keeps things: bundled sources, the user's cache, and the run folder of live boards."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from maxconsole.errors import UserError

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


def _bundled(name: str) -> Path:
    """A source folder that travels in the wheel, or lies beside the package in a checkout."""
    in_wheel = _PACKAGE / "_bundled" / name
    return in_wheel if in_wheel.is_dir() else _CHECKOUT / name


def firmware_dir() -> Path:
    """The firmware's C and assembly sources."""
    return _bundled("firmware")


def profiles_dir() -> Path:
    """Board profiles and recorded sessions that ship with the console."""
    return _bundled("profiles")


def cache_dir(part: str) -> Path:
    """`part` of the user's cache folder (`MAXCONSOLE_CACHE` overrides the root), created on demand.

    Raises UserError where it cannot be written.
    """
    root = os.environ.get("MAXCONSOLE_CACHE")
    path = (Path(root) if root else Path(platformdirs.user_cache_dir("maxconsole", appauthor=False))) / part
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot create the cache folder {path}: {error.strerror}",
            hint="set MAXCONSOLE_CACHE to a folder that you can write",
        ) from error
    if not os.access(path, os.W_OK):
        raise UserError(
            f"the cache folder {path} is read-only", hint="set MAXCONSOLE_CACHE to a folder that you can write"
        )
    return path


def runtime_dir() -> Path:
    """The folder of live boards' sockets and locks: mode 0700, one for each user."""
    root = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    path = Path(root) / f"maxconsole-{os.getuid()}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_uid != os.getuid() or path.stat().st_mode & 0o077:
        raise UserError(f"{path} is not private to you", hint=f"remove it, or run chmod 700 {path}")
    return path
