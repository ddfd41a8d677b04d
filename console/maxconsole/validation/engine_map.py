# SPDX-License-Identifier: Apache-2.0
"""What the KV ring's index map costs: look-ups, and whether they hit L1D, for maps of more and more pages."""

from __future__ import annotations

from maxconsole.models.demo import demo_path
from maxconsole.schema import wire
from maxconsole.validation.check import AtLeast, Bench, Check, Group, Outcome, Row
from maxconsole.validation.engine_runs import Prompt, run, total
from maxconsole.validation.llama_layers import SomeLayers

_CONTEXTS = (512, 1024, 2048)
_ENTRY_BYTES = 2


def _lookups(bench: Bench) -> Outcome:
    model = SomeLayers(demo_path(), (0, 1)).file()
    hits: list[Row] = []
    costs: list[Row] = []
    for context in _CONTEXTS[: 1 if bench.quick else None]:
        figures = run(bench, Prompt(2 * context, model=model, context=context))
        lookups, accesses, refills = (figures[f"map.{name}"] for name in ("lookups", "accesses", "refills"))
        users = total(figures, "prefill", "cycles", wire.Kernel.ATTENTION, wire.Kernel.KV_CACHE_UPDATE)
        name = f"context of {context} tokens"
        size = f"{figures['map.entries']:.0f} entries, {_ENTRY_BYTES * figures['map.entries']:.0f} bytes"
        hits.append(AtLeast(name, "% in L1D", 100 * (1 - refills / accesses), 90, f"target; {size}"))
        costs.append(Row(name, "cycles between look-ups", users / lookups, None, "attention and KV update"))
    return Outcome(
        (Group("the map stays in L1D", tuple(hits)), Group("how rarely it is asked", tuple(costs), required=0)),
        ("Two layers of the model, prompts of twice the context: the ring has turned. A page has 32 tokens.",),
    )


MAP = Check("map", "the KV ring's index map", _lookups)
