# SPDX-License-Identifier: Apache-2.0
"""Two kernels that do not exist, as the console shows them."""

from __future__ import annotations

from collections.abc import Sequence

from maxconsole.inspection.text import MEASURED_HEAD, Row
from maxconsole.tui.seam import KernelCode

_ROWS = (("8.25", "0.25", "0", "0"), ("75.00", "2.30", "61k", "4942"))


def made_up_kernels() -> tuple[KernelCode, ...]:
    title = "36+2 tokens of made-up-135M on synthetic"
    tile = KernelCode("tile_8", "gemm", 10, 1, 68.0, "V", 0.471, 0.6862, title, _tile)
    gather = KernelCode(
        "gather", "embed", 0, 0, None, "", None, None, title, lambda hot, source: [Row("gather", "head")]
    )
    return (tile, gather)


def _tile(only_hot: bool, with_sources: bool) -> Sequence[Row]:
    rows = [
        Row("tile_8", "head"),
        Row("  kernel gemm, firmware/kernels/tile.S, 160 bytes"),
        Row(""),
        Row("loop 1  0x8400b6a0 to 0x8400b6c4: hot", "head"),
        Row("  a pass     10 instructions, 1024 MAC"),
        Row("  bound      68 cycles by V: 15.1 MAC a cycle, 47.1 % of 32"),
        Row("  stack      1 loads, 0 stores"),
        Row(""),
        Row(MEASURED_HEAD, "cold"),
    ]
    for index in range(40):
        hot = 8 <= index < 18
        if only_hot and not hot:
            continue
        if with_sources and index % 5 == 0:
            rows.append(Row(f"tile.S:{30 + index}  row 4, minimum", "source"))
        share, cycles, l1d, l2 = _ROWS[index % 2]
        marks = f"{'1*' if hot else '':>4}{'S' if index == 12 else ' '}"
        text = f"{0x8400B680 + 4 * index:8x} {marks} {'sdot    v2.4s, v8.16b, v0.4b[0]':<33}"
        tone = "cold" if not hot else "stack" if index == 12 else "hot"
        rows.append(Row(f"{text} {share:>7} {cycles:>7} {l1d:>7} {l2:>6}", tone))
    return rows
