# SPDX-License-Identifier: Apache-2.0
"""What a check is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from maxconsole.validation.store import Store


@dataclass(frozen=True, slots=True)
class Row:
    """One modeled figure beside its reference.

    `tolerance` is relative. A row without a reference is reported and always passes. `why` explains a deviation that
    is understood; it excuses nothing.
    """

    name: str
    unit: str
    model: float
    reference: float | None
    source: str
    tolerance: float = 0.02
    why: str = ""

    @property
    def deviation(self) -> float | None:
        """Relative to the reference."""
        if self.reference is None:
            return None
        return abs(self.model - self.reference) if self.reference == 0 else self.model / self.reference - 1

    @property
    def passed(self) -> bool:
        return self.deviation is None or abs(self.deviation) <= self.tolerance + 1e-9


@dataclass(frozen=True, slots=True)
class AtLeast(Row):
    """A figure that must reach its reference: a speed, for example."""

    @property
    def passed(self) -> bool:
        return self.reference is None or self.model >= self.reference


@dataclass(frozen=True, slots=True)
class AtMost(Row):
    """A figure that must not exceed its reference."""

    @property
    def passed(self) -> bool:
        return self.reference is None or self.model <= self.reference


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of which at least `required` must pass; None: all."""

    title: str
    rows: tuple[Row, ...]
    required: int | None = None

    @property
    def passes(self) -> int:
        return sum(row.passed for row in self.rows)

    @property
    def needed(self) -> int:
        return len(self.rows) if self.required is None else self.required

    @property
    def passed(self) -> bool:
        return self.passes >= self.needed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found; `remarks` say what a reader of the figures has to know."""

    groups: tuple[Group, ...]
    remarks: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(group.passed for group in self.groups)


class Bench(Protocol):
    """What a check may use: earlier results, and a way to say what it is doing."""

    @property
    def store(self) -> Store: ...

    @property
    def quick(self) -> bool:
        """Less of everything: minutes instead of an hour."""

    def note(self, text: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Check:
    """`run` measures what the store does not hold. It raises UserError where a tool or an input is missing."""

    id: str
    title: str
    run: Callable[[Bench], Outcome]
