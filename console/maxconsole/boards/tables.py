# SPDX-License-Identifier: Apache-2.0
"""Reads a TOML table into a frozen dataclass, with messages that name file, key, value and rule."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from maxconsole.errors import UserError

T = TypeVar("T")


class ProfileError(UserError):
    """A board profile breaks a rule. The message is one line: file, key, value, rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on one value, used as `Annotated[int, rule]`; `text` completes "it must ..."."""

    text: str
    holds: Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: a file and a dotted key."""

    file: Path
    key: str = ""

    def __truediv__(self, name: str) -> Place:
        return Place(self.file, f"{self.key}.{name}" if self.key else name)

    def __getitem__(self, index: int) -> Place:
        return Place(self.file, f"{self.key}[{index}]")

    def error(self, rule: str, value: object = MISSING, *, hint: str = "") -> ProfileError:
        shown = "" if value is MISSING else f" = {show(value)}"
        return ProfileError(f"{self.file}: {self.key}{shown}: {rule}", hint=hint)


def show(value: object) -> str:
    """A value as it would stand in TOML; addresses and sizes are easier to compare in hexadecimal."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value >= 1 << 16:
        return f"{value:#x}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {show(item)}" for key, item in value.items()) + "}"
    return repr(value)


def read_table(cls: type[T], data: object, place: Place, **preset: object) -> T:
    """`data` as a `cls`: every key known, every value of its type and within its rules.

    A field with a default may be left out. `preset` are fields that do not come from the table. Raises ProfileError.
    """
    if not isinstance(data, Mapping):
        raise place.error("it must be a table", data)
    hints = _hints(cast("Hashable", cls))
    known = {field.name: field for field in fields(cls) if field.name not in preset}  # type: ignore[arg-type]
    for key, value in data.items():
        if key not in known:
            raise (place / key).error("unknown key", value, hint=_did_you_mean(key, known))
    values = dict(preset)
    for name, field in known.items():
        if name in data:
            values[name] = _read(hints[name], data[name], place / name)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise (place / name).error("it is missing")
    return cls(**values)


@cache
def _hints(cls: Hashable) -> dict[str, object]:
    return get_type_hints(cls, include_extras=True)


def _did_you_mean(key: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known here: {', '.join(sorted(known))}"


def _read(hint: object, value: object, place: Place) -> object:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        read = _read(arguments[0], value, place)
        for rule in arguments[1:]:
            if isinstance(rule, Rule) and not rule.holds(read):
                raise place.error(f"it must {rule.text}", value)
        return read
    if origin in (Union, UnionType):
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return _read(inner, value, place)
    if origin is Literal:
        if value not in arguments:
            raise place.error(f"it must be one of {', '.join(map(repr, arguments))}", value)
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise place.error("it must be a list", value)
        return tuple(_read(arguments[0], item, place[index]) for index, item in enumerate(value))
    if is_dataclass(hint):
        return read_table(cast("type[object]", hint), value, place)
    return _read_scalar(hint, value, place)


def _read_scalar(hint: object, value: object, place: Place) -> object:
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:  # exactly: a bool is no integer here
        names = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}
        raise place.error(f"it must be {names[cast('type', hint)]}", value)
    return value
