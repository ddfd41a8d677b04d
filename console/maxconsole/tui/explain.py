# SPDX-License-Identifier: Apache-2.0
"""What each number means, in plain words: one entry for every figure that a pane shows."""

from __future__ import annotations

from typing import Final

from maxconsole.tui.actions import Where

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
            "One routine of the engine, over all layers and cores. `between kernels` is what none of them covers.",
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
        ("L1D, L2 miss", _MISS),
        _PHASE,
    ),
    Where.CACHES: (
        ("accesses", "Loads and stores that looked into this cache."),
        ("refills", "Lines of 64 bytes that were not there and had to be fetched."),
        ("miss", _MISS),
        ("latest", "The same, for the steps since the last look; the line shows step after step, newest at the right."),
        ("MPKI", "L2 refills for every thousand instructions: what really goes to memory."),
        ("refills bar", "Which kernels cause the L1D refills."),
        _PHASE,
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
}
