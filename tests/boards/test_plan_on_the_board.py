# SPDX-License-Identifier: Apache-2.0
"""What a plan says about the pools is what the firmware takes of them, to the byte."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from maxconsole.schema import wire
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
from gguf_files import write_model  # the model tests' writer of small files

pytestmark = pytest.mark.system

POOLS_SECONDS = 10.0


def reported_pools(session: Session) -> tuple[wire.Pool, ...]:
    """The board's own figures; it sends them on its own when it has started."""
    end = time.monotonic() + POOLS_SECONDS
    while not session.snapshot().pools and time.monotonic() < end:
        time.sleep(0.05)
    return session.snapshot().pools


@pytest.mark.parametrize(
    ("shape", "context", "batch"),
    [
        ({"hidden": 256, "heads": 4, "kv_heads": 2, "ffn": 512, "layers": 2}, 128, 16),
        ({"hidden": 256, "heads": 4, "kv_heads": 1, "ffn": 768, "layers": 3}, 101, 7),
        ({"hidden": 256, "heads": 4, "kv_heads": 2, "ffn": 512, "layers": 2}, 64, 200),  # halves of different size
    ],
)
def test_the_board_takes_exactly_the_planned_bytes_of_every_pool(
    shape: dict[str, int], context: int, batch: int, tmp_path: Path
) -> None:
    model = write_model(tmp_path / "tiny.gguf", **shape)
    with Session.open(Setup(model=str(model), context=context, batch=batch)) as session:
        planned = session.prepared.plan.all_pools
        found = reported_pools(session)
    assert [(pool.base, pool.bytes, pool.used) for pool in found] == [
        (pool.base, pool.size_bytes, pool.used_bytes) for pool in planned
    ]
