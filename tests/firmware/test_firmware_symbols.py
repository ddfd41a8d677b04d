# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from firmware_tree import Builder

from maxconsole.firmware.elf import FirmwareElf, read_elf
from maxconsole.firmware.symbols import Symbolizer

INTRINSICS = """
#include <arm_neon.h>
#include "kernels/add.h"
static inline int32x4_t twice(int32x4_t a) {
    return vaddq_s32(a, a);
}
int add(int a, int b) {
    int32x4_t lanes = vdupq_n_s32(a);
    for (int i = 0; i < b; i++)
        lanes = twice(veorq_s32(lanes, vdupq_n_s32(i)));
    return vaddvq_s32(lanes);
}
int build_id_byte(int index) {
    return index;
}
"""


@pytest.fixture
def elf(warm_builder: Builder) -> FirmwareElf:
    warm_builder.tree.write("kernels/add.c", INTRINSICS)
    warm_builder.tree.write(
        "arch/nop.S",
        '        .section .text.nop_pair, "ax"\n        .global nop_pair\nnop_pair:\n        nop\n        ret\n',
    )
    warm_builder.tree.replace(
        "engine/main.c", "counter = add", "void nop_pair(void);\n    nop_pair();\n    counter = add"
    )
    return read_elf(warm_builder().elf)


def test_functions_are_listed_with_the_file_that_was_compiled(elf: FirmwareElf) -> None:
    symbolizer = Symbolizer(elf.path)
    functions = {one.name: one for one in symbolizer.functions()}
    assert functions["add"].size_bytes == elf.symbols["add"].size_bytes > 0
    assert symbolizer.source_of(functions["add"].address) == "firmware/kernels/add.c"
    assert symbolizer.source_of(0) == ""


def test_an_assembly_symbol_without_a_size_reaches_to_the_next_one(elf: FirmwareElf) -> None:
    location = Symbolizer(elf.path).symbolize(elf.address_of("nop_pair") + 4)
    assert str(location) == "nop_pair+0x4 (firmware/arch/nop.S:5)"


def test_an_intrinsic_is_attributed_to_the_line_that_uses_it(elf: FirmwareElf) -> None:
    symbolizer = Symbolizer(elf.path)
    function = elf.symbols["add"]
    lines = set()
    for address in range(function.address, function.address + function.size_bytes, 4):
        location = symbolizer.symbolize(address)
        assert location.function == "add"
        assert location.file == "firmware/kernels/add.c"
        lines.add(location.line)
    assert {5, 10} <= lines  # the addition inside the inlined function, the exclusive or in the loop


def test_addresses_outside_the_code_have_no_place(elf: FirmwareElf) -> None:
    symbolizer = Symbolizer(elf.path)
    for address in (0, elf.address_of("__weight_pool_start"), elf.address_of("__stack_top"), (1 << 64) - 4):
        location = symbolizer.symbolize(address)
        assert (location.function, location.file, location.line) == ("", "", 0)
        assert str(location) == f"{address:#x}"


def test_places_agree_with_addr2line(elf: FirmwareElf) -> None:
    tool = shutil.which("aarch64-linux-gnu-addr2line") or shutil.which("llvm-addr2line")
    if tool is None:
        pytest.skip("no addr2line is installed")
    functions = [symbol for symbol in elf.symbols.values() if symbol.function]
    addresses = [address for s in functions for address in range(s.address, s.address + s.size_bytes, 4)]
    random.Random(7).shuffle(addresses)
    answer = subprocess.run([tool, "-aie", elf.path, *map(hex, addresses)], capture_output=True, text=True, check=True)
    symbolizer = Symbolizer(elf.path)
    checked = 0
    for address, block in zip(addresses, answer.stdout.split("0x00000000")[1:], strict=True):
        frames = [line.partition(" (")[0].rpartition(":") for line in block.splitlines()[1:]]
        own = [(str(PurePosixPath(file)), line) for file, _, line in frames if not file.startswith(("/", "?"))]
        location = symbolizer.symbolize(address)
        if own and own[0][1].isdigit():
            assert (location.file, str(location.line)) == own[0]
            checked += 1
    assert checked > 20


def test_symbols_of_a_missing_file_are_a_plain_message(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="cannot read"):
        Symbolizer(tmp_path / "missing.elf")
