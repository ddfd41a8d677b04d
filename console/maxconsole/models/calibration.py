# SPDX-License-Identifier: Apache-2.0
"""What a text's activations look like at the inputs of every layer's matrices, for smoothing.

Runs the float32 oracle over `calibration.txt` layer by layer, so that one layer's weights are float32 at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Final

import numpy as np

from maxconsole.errors import UserError
from maxconsole.models.blocks import F32
from maxconsole.models.oracle import embedded, layer_outputs
from maxconsole.models.oracle_weights import Weights
from maxconsole.models.reader import GgufFile
from maxconsole.models.tokenizer import build_tokenizer
from maxconsole.schema.image import TensorRole

#: at most, of the calibration text, which has about as many
_TOKENS: Final = 640


def calibration_tokens(file: GgufFile, vocabulary: int) -> list[int]:
    """The first tokens of the calibration text; for a file without a tokenizer that we know, of a fixed sequence."""
    try:
        text = resources.files("maxconsole.models").joinpath("calibration.txt").read_text("utf-8")
        return build_tokenizer(file.metadata).encode(text)[:_TOKENS]
    except UserError:
        return [int(token) for token in np.random.default_rng(0).integers(0, vocabulary, _TOKENS)]


def layer_statistics(weights: Weights, tokens: Sequence[int]) -> Iterator[dict[TensorRole, F32]]:
    """Layer by layer, how loud each channel [K] of each matrix input is (`smoothing.READERS`): root mean squares."""
    hidden = embedded(weights, [tokens])
    found: dict[TensorRole, F32] = {}

    def record(_layer: int, role: TensorRole, values: F32) -> F32:
        found[role] = np.sqrt(np.square(values).mean(axis=0, dtype=np.float64)).astype(np.float32)
        return values

    with np.errstate(over="ignore", invalid="ignore"):  # what is no number is smoothed as if it were quiet
        for layer in range(weights.shapes.layers):
            found = {}
            hidden = layer_outputs(weights, layer, hidden, inputs=record)
            yield found
