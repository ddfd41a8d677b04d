# SPDX-License-Identifier: Apache-2.0
"""Finds, reads and validates board profiles."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path

from maxconsole import paths
from maxconsole.boards.profile import Board, Provenance
from maxconsole.boards.rules import check_board
from maxconsole.boards.tables import Place, ProfileError, read_table
from maxconsole.errors import UserError

DEFAULT_BOARD = "aimax395-virtual"
_EXTENDS_DEPTH = 8


def list_boards() -> tuple[str, ...]:
    """Names of the boards that ship with the console, ascending."""
    return tuple(sorted(file.stem for file in _folder().glob("*.toml")))


def load_board(name_or_path: str | Path = DEFAULT_BOARD) -> Board:
    """The profile of a shipped board, or of a TOML file of the user's own.

    Raises ProfileError for a profile that breaks a rule, UserError where there is none.
    """
    file = _find(str(name_or_path))
    document = _read_document(file, depth=0)
    provenance = _read_provenance(document.pop("provenance", {}), Place(file) / "provenance")
    board = read_table(Board, document, Place(file), file=file, provenance=provenance)
    check_board(board)
    return board


def profile_texts(board: Board) -> dict[str, str]:
    """The TOML texts that make up a board's profile by file name: its own first, then those that it extends.

    Raises UserError for one that can no longer be read.
    """
    texts: dict[str, str] = {}
    file: Path | None = board.file
    while file is not None and len(texts) <= _EXTENDS_DEPTH:
        name = file.name
        while name in texts:  # one of the user's own with the name of the shipped one that it extends
            name = f"base-{name}"
        try:
            texts[name] = file.read_text("utf-8")
            parent = tomllib.loads(texts[name]).get("extends")
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read {file}: {error}") from error
        file = None if parent is None else _find_parent(file, str(parent))
    return texts


def _folder() -> Path:
    return paths.profiles_dir() / "boards"


def _find(name: str) -> Path:
    if name.endswith(".toml") or "/" in name:
        file = Path(name).expanduser()
        if not file.is_file():
            raise UserError(f"there is no board profile {name}", hint=f"shipped boards: {', '.join(list_boards())}")
        return file.resolve()
    if name not in list_boards():
        close = difflib.get_close_matches(name, list_boards(), n=1)
        hint = f"did you mean {close[0]}?" if close else f"shipped boards: {', '.join(list_boards())}"
        raise UserError(f"there is no board named {name!r}", hint=hint)
    return _folder() / f"{name}.toml"


def _read_document(file: Path, depth: int) -> dict[str, object]:
    """The file's tables laid over those of the profile that it extends."""
    try:
        document: dict[str, object] = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{file}: not a TOML file: {error}") from error
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    place = Place(file) / "extends"
    parent = document.pop("extends", None)
    if parent is None:
        return document
    if not isinstance(parent, str):
        raise place.error("it must be the name of a profile, or a path", parent)
    if depth >= _EXTENDS_DEPTH:
        raise place.error("profiles extend each other in a circle", parent)
    return _overlay(_read_document(_find_parent(file, parent), depth + 1), document)


def _find_parent(file: Path, parent: str) -> Path:
    """The profile that `file` extends: one beside it, one of the user's own, or a shipped one."""
    beside = file.parent / parent
    return beside.resolve() if parent.endswith(".toml") and beside.is_file() else _find(parent)


def _overlay(base: dict[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """`base` with the values of `over`: tables are merged, everything else, lists too, is replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _read_provenance(data: object, place: Place) -> dict[str, Provenance]:
    if not isinstance(data, Mapping):
        raise place.error("it must be a table", data)
    return {str(key): read_table(Provenance, entry, place / str(key)) for key, entry in data.items()}
