# SPDX-License-Identifier: Apache-2.0
"""What the memory planner must know of a model file."""

from __future__ import annotations

from maxconsole.boards.facts import ModelFacts
from maxconsole.models.layout import ImageLayout


def model_facts(layout: ImageLayout) -> ModelFacts:
    """The planner's facts of a model laid out by `lay_out`."""
    shapes = layout.shapes
    return ModelFacts(
        family=shapes.family.name.lower(),
        layers=shapes.layers,
        hidden=shapes.hidden,
        ffn=shapes.ffn,
        heads=shapes.heads,
        kv_heads=shapes.kv_heads,
        head_dim=shapes.head_dim,
        vocabulary=shapes.vocabulary,
        context_train=shapes.context_train,
        image_bytes=layout.total_bytes,
    )
