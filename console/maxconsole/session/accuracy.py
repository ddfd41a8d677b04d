# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the firmware: its logits on the board against the model file's own weights in float32."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from maxconsole.errors import UserError
from maxconsole.models.accuracy import Agreement, Comparison
from maxconsole.models.blocks import F32
from maxconsole.models.chat import with_bos
from maxconsole.models.oracle import teacher_forced_logits
from maxconsole.models.oracle_weights import FileWeights
from maxconsole.session.progress import Progress, silent
from maxconsole.session.session import Session

_BAND = 128


@dataclass(frozen=True, slots=True)
class Band:
    """Positions `start` to `end` - 1 of all sequences: an error that builds up along a sequence shows here."""

    start: int
    end: int
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """How often the likeliest token is the same, and how far the distributions are apart, over all positions."""

    agreement: Agreement
    bands: tuple[Band, ...]
    sequences: int
    longest: int  # tokens of the longest sequence


def measure_accuracy(session: Session, text: str, tokens: int, progress: Progress = silent) -> AccuracyResult:
    """Feeds the first `tokens` tokens of `text` to the board, in sequences as long as its context, and compares the
    logits after every one of them with those of the float32 model.

    Raises UserError for a text that is too short, BoardError.
    """
    tokenizer = session.prepared.model.tokenizer
    encoded = tokenizer.encode(text)[:tokens]
    if len(encoded) < tokens:
        raise UserError(f"the text has {len(encoded)} tokens, and {tokens} were asked for")
    length = session.hello.context - 1  # a begin token may come in front
    sequences = [with_bos(tokenizer, encoded[start : start + length]) for start in range(0, tokens, length)]
    comparison = Comparison()
    bands: dict[int, Comparison] = {}
    total = sum(map(len, sequences))
    done = 0
    board_rows: Iterator[F32] = iter(())
    for block in teacher_forced_logits(_weights(session), sequences):
        sequence = sequences[block.sequence]
        if block.start == 0:
            board_rows = (logits for _, logits in session.logits(sequence))
        rows = []
        for row in islice(board_rows, len(block.logits)):
            rows.append(row)
            done += 1
            progress("accuracy", done, total)
        got = np.stack(rows)
        comparison.add(block.logits, got)
        for start in range(block.start // _BAND * _BAND, block.start + len(got), _BAND):
            here = slice(max(0, start - block.start), start - block.start + _BAND)
            bands.setdefault(start, Comparison()).add(block.logits[here], got[here])
        if block.start + len(rows) == len(sequence):
            deque(board_rows, 0)  # lets the request end
    longest = max(map(len, sequences))
    parts = tuple(Band(start, min(start + _BAND, longest), bands[start].result()) for start in sorted(bands))
    return AccuracyResult(comparison.result(), parts, len(sequences), longest)


def _weights(session: Session) -> FileWeights:
    model = session.prepared.model
    return FileWeights(model.file, model.layout)
