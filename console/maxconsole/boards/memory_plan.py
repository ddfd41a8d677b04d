# SPDX-License-Identifier: Apache-2.0
"""The result of planning: what lies where in a board's memory."""

from __future__ import annotations

from dataclasses import dataclass

from maxconsole.boards.facts import ModelFacts
from maxconsole.boards.ranges import MemoryRange


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """One pool: `base` and `size_bytes` are multiples of 2 MiB, `used_bytes` is what the model takes of it."""

    name: str
    base: int
    size_bytes: int
    used_bytes: int

    @property
    def range(self) -> MemoryRange:
        return MemoryRange(self.base, self.size_bytes, self.name)


@dataclass(frozen=True, slots=True)
class Plan:
    """Memory of one board, for one model and context.

    `facts` and `longest_context` are None in a plan that was made for no particular model. `free` is what no pool and
    no image takes. `longest_context` is the longest that this board could hold. `npu` is the NPU's carve-out with what
    the engine takes of it, which is nothing where its buffers do not fit; None on a board without an NPU.
    """

    board: str
    facts: ModelFacts | None
    context: int
    batch: int
    image: MemoryRange
    weight: PoolPlan
    activation: PoolPlan
    kv_cache: PoolPlan
    free: tuple[MemoryRange, ...]
    longest_context: int | None
    npu: PoolPlan | None = None

    @property
    def pools(self) -> tuple[PoolPlan, PoolPlan, PoolPlan]:
        """The three pools, in the order of the firmware's own table."""
        return self.weight, self.activation, self.kv_cache

    @property
    def all_pools(self) -> tuple[PoolPlan, ...]:
        """With the NPU's, in the order in which the firmware reports them."""
        return self.pools if self.npu is None else (*self.pools, self.npu)

    @property
    def free_bytes(self) -> int:
        return sum(part.size_bytes for part in self.free)
