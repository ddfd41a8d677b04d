# SPDX-License-Identifier: Apache-2.0
"""Kernel events of a made-up step."""

from __future__ import annotations

from maxconsole.schema import wire


def event(
    kernel: int, start: int, cycles: int, core: int = 0, *, phase: wire.Phase = wire.Phase.DECODE, work: int = 1
) -> wire.KernelEvent:
    """In layer 3 of step 0, with an IPC of 2."""
    return wire.KernelEvent(
        kernel=kernel,
        core=core,
        layer=3,
        phase=phase,
        step=0,
        instructions=2 * cycles,
        start_cycles=start,
        cycles=cycles,
        work=work,
        counters=(0,) * wire.COUNTERS,
    )
