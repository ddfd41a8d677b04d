# SPDX-License-Identifier: Apache-2.0
"""A small firmware tree that is compiled for real, with the project's own linker script."""

from __future__ import annotations

import shutil
from pathlib import Path

from maxconsole import paths
from maxconsole.boards import Board, Plan
from maxconsole.firmware.build import BuiltFirmware, Image, build
from maxconsole.firmware.toolchain import Toolchain

FILES = {
    "arch/start.S": """
#include "board_config.h"
        .section .text.start, "ax", %progbits
        .global _start
        .type _start, %function
_start: mov     x0, #BOARD_CORES
        bl      main
1:      b       1b
        .size _start, . - _start
""",
    "engine/main.c": """
#include "kernels/add.h"
int main(void);
static int counter;
int main(void) {
    counter = add(counter, 3);
    return build_id_byte(0) + control_block();
}
""",
    "kernels/add.h": """
#pragma once
#define STEP 1
int add(int a, int b);
int build_id_byte(int index);
int control_block(void);
""",
    "kernels/add.c": """
#include "kernels/add.h"
#include "board_config.h"
int add(int a, int b) {
    return a + b * STEP;
}
int build_id_byte(int index) {
    return BUILD_ID[index];
}
""",
    "link/rtt.c": """
#include "kernels/add.h"
__attribute__((section(".rtt"))) volatile unsigned _SEGGER_RTT[64];
int control_block(void) {
    return (int)_SEGGER_RTT[0];
}
""",
    "checkasm/main.c": """
#include "kernels/add.h"
int main(void);
int main(void) { return add(1, 2); }
""",
}


class FirmwareTree:
    """A firmware folder that tests may edit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in FILES.items():
            self.write(name, text)
        shutil.copy(paths.firmware_dir() / "link.ld.in", root)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))


class Builder:
    """`build` with everything but the interesting arguments filled in; `tree` and `plan` may be replaced."""

    def __init__(self, tree: FirmwareTree, board: Board, plan: Plan, toolchain: Toolchain) -> None:
        self.tree, self.board, self.plan, self.toolchain = tree, board, plan, toolchain

    def __call__(self, image: Image = "engine", **changes: object) -> BuiltFirmware:
        options = {"sources": self.tree.root, "toolchain": self.toolchain, **changes}
        return build(self.board, self.plan, image, **options)  # type: ignore[arg-type]
