# SPDX-License-Identifier: Apache-2.0
"""A measurement for other programs: folded stacks, and speedscope's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import basename, dirname
from typing import Any, Final

from maxconsole.inspection.kernels import kernel_of
from maxconsole.inspection.measurement import Measurement
from maxconsole.inspection.report import Inspector

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A source line of a function; `group` is its kernel, or else the folder that it comes from."""

    group: str
    function: str
    file: str
    line: int


def cycles_by_place(inspector: Inspector, measurement: Measurement) -> dict[Place, float]:
    """Cycles of every source line that was executed; by function where there is no line."""
    found: dict[Place, float] = {}
    for address, spot in measurement.spots.executed():
        location = inspector.location(address)
        kernel = kernel_of(location.function)
        group = kernel if kernel != "-" else basename(dirname(location.file)) or "unknown"
        place = Place(group, location.function or f"{address:#x}", location.file, location.line)
        found[place] = found.get(place, 0.0) + spot.cycles
    return found


def folded_lines(cycles: Mapping[Place, float]) -> Iterator[str]:
    """`group;function;file:line cycles`, as flame graph programs read it: whole cycles, lines of less left out."""
    for place, spent in sorted(cycles.items()):
        if round(spent):
            yield f"{';'.join(_frames(place))} {round(spent)}"


def speedscope(cycles: Mapping[Place, float], title: str) -> dict[str, Any]:
    """A "sampled" profile: one sample for each line, weighted with its cycles, outermost frame first.

    The format: speedscope's file-format-spec.ts. It has no unit for cycles.
    """
    frames: list[dict[str, Any]] = []
    numbers: dict[tuple[str, ...], int] = {}
    samples: list[list[int]] = []
    weights: list[float] = []
    for place, spent in sorted(cycles.items()):
        names = _frames(place)
        sample = []
        for depth, name in enumerate(names, 1):
            if names[:depth] not in numbers:
                numbers[names[:depth]] = len(frames)
                frames.append({"name": name, "file": place.file, "line": place.line} if depth > 1 else {"name": name})
            sample.append(numbers[names[:depth]])
        samples.append(sample)
        weights.append(spent)
    return {
        "$schema": _SCHEMA,
        "name": title,
        "exporter": "maxconsole",
        "shared": {"frames": frames},
        "profiles": [
            {
                "type": "sampled",
                "name": f"{title}, cycles",
                "unit": "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }


def _frames(place: Place) -> tuple[str, ...]:
    line = f"{basename(place.file)}:{place.line}" if place.line else "no line"
    return (place.group, place.function, line)
