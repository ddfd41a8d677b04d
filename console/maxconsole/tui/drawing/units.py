# SPDX-License-Identifier: Apache-2.0
"""Figures as short text of a fixed width with their unit, so that columns of them line up."""

from __future__ import annotations

import math

#: What stands where there is no figure: the board has not said, or a ratio has nothing below its line.
NONE = "-"

_SI = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


def si(value: float | None) -> str:
    """Three significant digits and an SI prefix in six cells: ` 999  `, `1.23 k`, `12.3 M`."""
    if value is None or not math.isfinite(value):
        return f"{NONE:>4}  "
    magnitude = abs(value)
    if magnitude < 1000:
        whole = value == int(value) and isinstance(value, int)
        return f"{value:>4d}  " if whole else f"{_three(value):>4}  "
    for prefix in _SI[1:]:
        magnitude /= 1000
        if magnitude < 999.5 or prefix == _SI[-1]:
            return f"{_three(math.copysign(magnitude, value)):>4} {prefix}"
    raise AssertionError("unreachable")


def _three(value: float) -> str:
    """Three significant digits of a number below 1000."""
    magnitude = abs(value)
    if magnitude >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if magnitude >= 9.995 else f"{value:.2f}"


def grouped(value: int) -> str:
    """A whole number with thin groups of three: `1 234 567`."""
    return f"{value:,}".replace(",", " ")


def percent(fraction: float | None) -> str:
    """A share in six cells with its sign: `33.3 %`, `0.08 %`, ` 100 %`."""
    if fraction is None or not math.isfinite(fraction):
        return f"{NONE:>4}  "
    value = fraction * 100
    if value >= 99.95:
        digits = f"{value:.0f}"
    elif value >= 0.9995:
        digits = f"{value:.1f}"
    else:
        digits = f"{value:.2f}" if value >= 0.005 else ("0" if value == 0 else "<.01")
    return f"{digits:>4} %"


def ratio(value: float | None) -> str:
    """A plain ratio such as IPC in five cells: ` 3.42`, `15.81`, `  -  `."""
    if value is None or not math.isfinite(value):
        return f"{NONE:>3}  "
    return f"{value:5.2f}" if value < 99.995 else f"{value:5.0f}"


def binary(value: float | None) -> str:
    """Bytes of memory in eight cells: ` 128 MiB`, `1.50 GiB`, ` 512 B  `."""
    if value is None:
        return f"{NONE:>4}    "
    for unit in _BINARY:
        if value < 1023.5 or unit == _BINARY[-1]:
            digits = f"{value:.0f}" if unit == "B" or (value == int(value) and value < 1000) else _three(value)
            return f"{digits:>4} {unit:<3}"
        value /= 1024
    raise AssertionError("unreachable")


def data_rate(bytes_per_s: float | None) -> str:
    """Bytes per second of a link, in SI as links are: `210 kB/s`."""
    if bytes_per_s is None or bytes_per_s < 1000:
        return f"{NONE if bytes_per_s is None else round(bytes_per_s)} B/s"
    digits, prefix = si(bytes_per_s).split()
    return f"{digits} {prefix}B/s"


def gigabytes(bytes_per_s: float | None) -> str:
    """Bytes per second of a memory in GB/s, five cells, without the unit: ` 9.82`, `13.80`."""
    return ratio(None if bytes_per_s is None else bytes_per_s / 1e9)


def token_rate(tokens_per_s: float | None) -> str:
    """Tokens per second, three digits, without the unit."""
    return NONE if tokens_per_s is None or not math.isfinite(tokens_per_s) else _rate(tokens_per_s)


def _rate(value: float) -> str:
    return f"{value:.0f}" if value >= 999.5 else _three(value)


def clock(seconds: float | None) -> str:
    """A duration as people read it: `0:07`, `12:34`, `1:02:03`; `-:--` where it is not known."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return "-:--"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def lasted(seconds: float | None) -> str:
    """A duration with tenths while they matter: `2.1 s`, `1:42` from a minute on."""
    if seconds is not None and 0 <= seconds < 60:
        return f"{seconds:.1f} s"
    return clock(seconds)


def time_of_cycles(cycles: float | None, hertz: int | None) -> str:
    """What `cycles` last at `hertz`, in eight cells: ` 1.23 ms`."""
    if cycles is None or not hertz:
        return f"{NONE:>5}   "
    seconds = cycles / hertz
    for scale, unit in ((1, "s "), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")):
        if seconds * scale >= 1 or unit == "ns":
            return f"{_rate(seconds * scale):>5} {unit}"
    raise AssertionError("unreachable")
