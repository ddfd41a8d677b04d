# SPDX-License-Identifier: Apache-2.0
"""What each number means, in plain words: one entry for every figure that a pane shows."""

from __future__ import annotations

from typing import Final

from maxconsole.tui.actions import Where
from maxconsole.tui.presets import ABOUT

Entries = tuple[tuple[str, str], ...]

BADGE: Final = (
    "MODELLED: cycles and misses come from the timing model of the virtual board, whose version stands beside it; the "
    "instructions themselves really ran. MEASURED: they come from the counters of a real core. UNTIMED: fast mode of a "
    "virtual board; nothing is counted there."
)

STATUS: Final[Entries] = (
    ("○ ◐ ● ▶ ■", "No board, starting, ready, answering, failed."),
    ("RTT, UART", "What carries the bytes, and how many arrive in a second: the mean of the last two."),
    ("dropped", "Kernel events that the board had no room to send. Totals stay right: the board keeps its own sums."),
    ("damaged", "Frames lost on the way or with a wrong checksum. Answers are never dropped."),
    ("prefill", "Prompt tokens that the board works through in a second of its own time."),
    ("decode", "Answer tokens that it makes in a second of its own time. An emulated board takes longer to watch."),
    ("badge", BADGE),
)

_PHASE: Final = ("phase", "Prefill works through the prompt, many tokens at once; decode makes one token a step.")
_COUNTERS: Final[Entries] = (
    (
        "counters",
        "A core has six: F4 chooses what they count, from the next answer on. Totals start anew with the choice. What "
        "is not counted is left out, or stands as -.",
    ),
    *((f"  {name}", f"{about[0].upper()}{about[1:]}.") for name, about in ABOUT.items()),
)
_MISS: Final = "Of all accesses to this level, the share that had to be fetched from the next. Lower is better."

PANES: Final[dict[Where, Entries]] = {
    Where.PROMPT: (
        ("Enter", "Sends. Ctrl+J starts a new line; in terminals that tell them apart, Shift+Enter does too."),
        ("↑ ↓", "On the first and the last line: what you sent before."),
        ("small line", "Below each answer: its tokens, how long you waited, the speed you saw and the board's own."),
        ("cached", "Prompt tokens whose keys and values were still in the KV ring: they cost nothing again."),
    ),
    Where.KERNELS: (
        (
            "kernel",
            "One routine of the engine, over all layers, and over all cores or the one that c chooses. `between "
            "kernels` is what none of them covers, `wait` what a core waits for the others, `npu_wait` for the NPU.",
        ),
        (
            "NPU ...",
            "Jobs of the NPU, beside the cores and no part of their cycles. Their share is of the time of all steps "
            "shown.",
        ),
        ("count", "How often it ran."),
        (
            "cycles",
            "Core cycles spent in it, and `time` the same at the core's clock; `per call` divides by the count.",
        ),
        ("share", "Its part of all cycles shown. The bar is as long as the share, the longest one full."),
        ("IPC", "Instructions per cycle. A Cortex-A76 decodes four at a time; below 1 it mostly waits."),
        (
            "MAC/in",
            "Multiply-accumulates for each instruction. An SDOT does 16, so this says how much of the code works.",
        ),
        ("MAC/cy", "Multiply-accumulates for each cycle. The core's limit for int8 is 32."),
        ("stall", "Cycles in which the back end could take nothing new: it waited for memory or for results."),
        (
            "bound",
            "Virtual boards: of the cycles, what the busiest pipe of the core would need if nothing else held it up. "
            "Near 100 % only other code is quicker; far below, memory or dependencies hold it up.",
        ),
        ("L1D, L2 miss", _MISS),
        _PHASE,
        *_COUNTERS,
    ),
    Where.CACHES: (
        ("accesses", "Loads and stores that looked into this cache."),
        ("refills", "Lines of 64 bytes that were demanded, were not there and had to be fetched."),
        (
            "prefetch",
            "Lines that L2 fetched before anything asked for them: what came from below, less the demanded ones.",
        ),
        ("miss", _MISS),
        ("MPKI", "Refills for every thousand instructions. L2's are what really waits for what is below it."),
        ("latest", "The same, for the steps since the last look; the line shows step after step, newest at the right."),
        (
            "memory",
            "Bytes that the cores exchange with L3 and memory in a second of the board's time, and how much that is of "
            "what its memory gives at best.",
        ),
        ("TLB 1, TLB 2", "Translations of addresses: the core's small table, and the larger one behind it."),
        ("walks", "Translations that neither had: the page tables are read. walks/ki: for a thousand instructions."),
        ("GB/s", "Of a kernel: its memory traffic while it ran, for each core."),
        ("last column", "Which kernels cause the refills of the first level counted, or the reads from memory."),
        _PHASE,
        *_COUNTERS,
    ),
    Where.RING: (
        (
            "band",
            "All slots of the key-value cache, from the first to the last. ◆ sinks, █ visible, ░ no longer, · free.",
        ),
        ("sinks", "The first tokens of the conversation; they stay visible for ever, because attention rests on them."),
        ("start", "Slot of the oldest token, apart from the sinks, that the next query sees."),
        ("end", "Slot that the next token goes to. Behind the last slot it wraps to the first one after page 0."),
        ("visible", "Tokens that the next query sees, and how many it can at most: the context."),
        ("occupied", "Slots that hold a token, visible or not."),
        ("wraps", "How often the ring has gone around."),
        (
            "map hits",
            "The index map says where each page of 32 tokens lies. This share of its look-ups was found in L1.",
        ),
        ("memory", "Bytes that the tokens take, of those set aside; `per token` is over all layers."),
    ),
    Where.LOG: (
        ("12.345", "When the line arrived, in seconds after the board's first byte, on this computer's clock."),
        ("E W I D ·", "Error, warning, information, debug; · is text that came outside of frames, such as a panic."),
        ("held", "You have scrolled up: new lines arrive below without moving the view. f follows again."),
        ("\\x1b", "Control characters that the board sent, written out so that they cannot steer your terminal."),
    ),
    Where.TIMELINE: (
        (
            "lanes",
            "The last whole decode step or prefill batch, a row a core, and one for the NPU where it has taken part. p "
            "shows the other one. `98.4 %` is how long it was busy.",
        ),
        (
            "█ ▓ ▚ ▒ ░ ┈ ╌",
            "Matrices of the feed-forward network and the head; query, key, value and output matrices; attention; "
            "unpacking of weights; everything else; waiting for other cores; waiting for the NPU. Blank: between "
            "kernels.",
        ),
        (
            "· ∘ ╶ ═",
            "The NPU: nobody had a job for it, and the line below says what the cores were at; the next one was "
            "attention's, whose softmax was still being computed; a job was starting; a job waited for memory beyond "
            "what its multiply-accumulates take.",
        ),
        (
            "overlap",
            "Time in which NPU and cores both worked, of the time that the less busy of them did. Cores: their mean.",
        ),
        (
            "names",
            "Where a kernel has room: gate, up, down, attn, deq (dequant), quant, norm, add (residual), kv, read (of "
            "the NPU's results).",
        ),
        ("from afar", "Several kernels share a cell; each is drawn as often as its cycles are worth. + looks closer."),
        ("▲ ▸", "The cursor, and its core: ← → and ↑ ↓ move it, and the line below says what is there."),
        ("time, cycles", "Since the step began, on the board's clock."),
        (
            "in pieces",
            "A kernel that alternates with another, as dequant does with the matrix it unpacks, is drawn in one piece.",
        ),
    ),
}
