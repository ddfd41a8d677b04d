# SPDX-License-Identifier: Apache-2.0
"""Time of a core or the NPU as a row of cells, each in glyph and ink of its kernel, with the name where it has room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from maxconsole.tui.drawing.ink import Ink, Line, Span, line

#: How the schema calls what a core waits for the others, and for the NPU.
WAIT: Final = "wait"
NPU_WAIT: Final = "npu_wait"
#: What the NPU does where it does not multiply: nobody has a job for it, the next one is to multiply probabilities that
#: are still being made, a job begins, a job waits for memory.
NPU_IDLE: Final = "no work queued"
NPU_SOFTMAX: Final = "waiting for softmax"
NPU_STARTING: Final = "starting"
NPU_BUS: Final = "waiting for memory"


class _Kind(NamedTuple):
    """Kernels of one kind look the same: shape and ink, and what the legend calls them."""

    glyph: str
    ink: Ink
    legend: str


_FFN: Final = _Kind("█", Ink.BAR, "ffn, head")
_PROJECTION: Final = _Kind("▓", Ink.BAR, "q k v o")
_ATTENTION: Final = _Kind("▚", Ink.ACCENT, "attention")
_UNPACK: Final = _Kind("▒", Ink.SINK, "dequant")
_OTHER: Final = _Kind("░", Ink.PLAIN, "other")
_WAITING: Final = _Kind("┈", Ink.TRACK, "waiting")
_NPU_WAITING: Final = _Kind("╌", Ink.TRACK, "waiting for NPU")
_IDLE: Final = _Kind("·", Ink.TRACK, "NPU idle")
_SOFTMAX: Final = _Kind("∘", Ink.TRACK, "NPU: softmax")
_STARTING: Final = _Kind("╶", Ink.WARN, "NPU starting")
_BUS: Final = _Kind("═", Ink.WARN, "NPU memory")
_KINDS: Final = (
    _FFN,
    _PROJECTION,
    _ATTENTION,
    _UNPACK,
    _OTHER,
    _WAITING,
    _NPU_WAITING,
    _IDLE,
    _SOFTMAX,
    _STARTING,
    _BUS,
)

#: Kernel -> its kind, and a name that is short enough to stand in its cells.
_LOOKS: Final = {
    "linear_q": (_PROJECTION, "q"),
    "linear_k": (_PROJECTION, "k"),
    "linear_v": (_PROJECTION, "v"),
    "linear_o": (_PROJECTION, "o"),
    "linear_qkv": (_PROJECTION, "qkv"),
    "linear_gate": (_FFN, "gate"),
    "linear_up": (_FFN, "up"),
    "linear_down": (_FFN, "down"),
    "linear_gate_up": (_FFN, "gate up"),
    "head": (_FFN, "head"),
    "attention": (_ATTENTION, "attn"),
    "dequant": (_UNPACK, "deq"),
    "rms_norm": (_OTHER, "norm"),
    "quantise": (_OTHER, "quant"),
    "kv_cache_update": (_OTHER, "kv"),
    "swiglu": (_OTHER, "swiglu"),
    "residual": (_OTHER, "add"),
    "bias": (_OTHER, "add"),
    "npu_read": (_OTHER, "read"),
    WAIT: (_WAITING, "wait"),
    NPU_WAIT: (_NPU_WAITING, "npu"),
    NPU_IDLE: (_IDLE, "idle"),
    NPU_SOFTMAX: (_SOFTMAX, "softmax"),
    NPU_STARTING: (_STARTING, "start"),
    NPU_BUS: (_BUS, "memory"),
}
#: Cells of its own glyph that a run keeps beside its name.
_AROUND: Final = 3


def lane(names: Iterable[str], *, labels: bool) -> Line:
    """One cell a name; "" is a gap. A run of cells carries its kernel's short name where `labels` and room allow."""
    spans: list[Span] = []
    for name, run in groupby(names):
        spans += _run(name, len(list(run)), labels=labels)
    return tuple(spans)


def _run(name: str, cells: int, *, labels: bool) -> list[Span]:
    if not name:
        return [Span(" " * cells)]
    kind, short = _LOOKS.get(name, (_OTHER, name))
    # The narrow last block keeps two runs of full ones apart.
    body = kind.glyph * cells if kind is not _FFN or cells == 1 else kind.glyph * (cells - 1) + "▊"
    if not labels or cells < len(short) + _AROUND:
        return [Span(body, kind.ink)]
    return [Span(body[:1], kind.ink), Span(short, Ink.STRONG), Span(body[1 + len(short) :], kind.ink)]


def legend(names: Sequence[str]) -> Line:
    """The kinds that are among `names`, with their glyphs."""
    there = {_LOOKS.get(name, (_OTHER, name))[0] for name in names if name}
    parts: list[str | Span] = []
    for kind in _KINDS:
        if kind in there:
            parts += [Span(f" {kind.glyph}", kind.ink), Span(f" {kind.legend} ", Ink.DIM)]
    return line(*parts)
