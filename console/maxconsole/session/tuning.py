# SPDX-License-Identifier: Apache-2.0
"""Tuning profiles: settings that change speed and no result, as `maxconsole tune` found them best."""

from __future__ import annotations

import tempfile
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from maxconsole.boards.planner import BATCH_MAX
from maxconsole.errors import UserError
from maxconsole.schema import wire
from maxconsole.session.setup import Setup


@dataclass(frozen=True, slots=True)
class Tuning:
    """`batch` prompt tokens at a time; so many cores for prefill, and for decode."""

    batch: int
    prefill_cores: int
    decode_cores: int

    def applied(self, setup: Setup) -> Setup:
        """`setup` with these values, except for cores that the user has chosen."""
        if setup.cores is not None:
            return replace(setup, batch=self.batch)
        return replace(setup, batch=self.batch, cores=self.prefill_cores, decode_cores=self.decode_cores)


def with_tuning(setup: Setup, path: Path | None) -> Setup:
    """`setup` as the profile in `path` has it; as it is without one. Raises UserError."""
    return setup if path is None else read_tuning(path).applied(setup)


LIMITS: Final = {"batch": BATCH_MAX, "prefill_cores": wire.CORES_MAX, "decode_cores": wire.CORES_MAX}
_TABLE: Final = "settings"


def read_tuning(path: Path) -> Tuning:
    """Raises UserError that names the file and what is wrong with it."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))[_TABLE]
        values = {name: table[name] for name in LIMITS}
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", hint="`maxconsole tune` writes such a file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no tuning profile: {error}", hint="`maxconsole tune` writes such a file") from error
    for name, value in values.items():
        if type(value) is not int or not 1 <= value <= LIMITS[name]:
            raise UserError(f"{path}: {name} is {value!r}, which is not between 1 and {LIMITS[name]}")
    return Tuning(**values)


def write_tuning(path: Path, tuning: Tuning, about: dict[str, str | int | float]) -> None:
    """All of the file or nothing. `about` says where the values come from. Raises UserError."""
    lines = ["# Made by `maxconsole tune`: changes speed and no result.", f"[{_TABLE}]"]
    lines += [f"{name} = {getattr(tuning, name)}" for name in LIMITS]
    lines += ["", "[measured]", *(f"{name} = {_toml(value)}" for name, value in about.items()), ""]
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as scratch:
            scratch.write("\n".join(lines))
        Path(scratch.name).replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error


def _toml(value: str | float) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
