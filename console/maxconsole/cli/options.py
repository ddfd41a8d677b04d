# SPDX-License-Identifier: Apache-2.0
"""Options that several verbs have in common."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from maxconsole.session.route import AttentionForm, NpuMode


class Carrier(StrEnum):
    """What carries the link, by the names that users know."""

    RTT = "rtt"
    SERIAL = "serial"


class TimingModel(StrEnum):
    """maxconsole.session.machine.Timing for the command line."""

    TIMED = "timed"
    FAST = "fast"
    OFF = "off"


Board: TypeAlias = Annotated[
    str,
    typer.Option(
        "--board", "-b", envvar="MAXCONSOLE_BOARD", metavar="NAME", help="A shipped board, or a profile's path."
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        envvar="MAXCONSOLE_MODEL",
        metavar="FILE",
        help="A GGUF file; the demo model if there is none.",
        show_default=False,
    ),
]
ModelFile: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[MODEL]", help="A GGUF file; the demo model if there is none.", show_default=False),
]
Context: TypeAlias = Annotated[
    int, typer.Option("--context", "-c", metavar="TOKENS", help="How far back a token can look.")
]
Batch: TypeAlias = Annotated[
    int, typer.Option("--batch", metavar="TOKENS", help="Prompt tokens per prefill batch; fewer where memory is short.")
]
Int8: TypeAlias = Annotated[
    int,
    typer.Option(
        "--int8",
        metavar="TOKENS",
        min=0,
        help="Prompts from this length on are computed with weights requantized to int8: quicker, and less exact."
        " 0: none is.",
    ),
]
Npu: TypeAlias = Annotated[
    NpuMode,
    typer.Option("--npu", help="What of a prompt the NPU computes, with the file's own weights; boards that have one."),
]
NpuF16: TypeAlias = Annotated[
    bool, typer.Option("--npu-f16", help="The NPU rounds its results to fp16: fewer bytes on the bus, less exact.")
]
Attention: TypeAlias = Annotated[
    AttentionForm,
    typer.Option("--attention", help="How attention is computed; what the others cost and gain: docs/attention.md."),
]
Cores: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, help="How many cores work; as many as the board does best with.", show_default=False),
]
Tuning: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--tuning",
        metavar="FILE",
        help="A profile that tune has written: batch and cores are its.",
        show_default=False,
    ),
]
Timing: TypeAlias = Annotated[
    TimingModel,
    typer.Option(
        "--timing",
        help="Virtual boards: the out-of-order model, a quicker one of port bounds and caches, or none, which counts"
        " nothing and is the quickest.",
    ),
]
Link: TypeAlias = Annotated[
    Carrier | None,
    typer.Option(
        "--link",
        help="RTT rings in memory, or the UART, without single events; the board's profile decides.",
        show_default=False,
    ),
]
Port: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--port",
        metavar="PORT",
        help="A board that runs already, reached through this serial port or pyserial URL; nothing is flashed.",
        show_default=False,
    ),
]
Baud: TypeAlias = Annotated[
    int | None,
    typer.Option("--baud", min=1, help="With --port: its rate; the board's profile decides.", show_default=False),
]
Events: TypeAlias = Annotated[
    str,
    typer.Option(
        "--events",
        metavar="NAMES",
        help="Up to six PMU events to count, with commas between; the rest is the board profile's choice.",
        show_default=False,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def transport(link: Carrier | None) -> Literal["rtt", "uart"] | None:
    """The same as profiles name it."""
    return None if link is None else "uart" if link is Carrier.SERIAL else "rtt"


def names(text: str) -> tuple[str, ...]:
    """The parts of a list with commas."""
    return tuple(part for part in text.split(",") if part.strip())


def verb() -> typer.Typer:
    """The app of a verb's module."""
    return typer.Typer(add_completion=False)
