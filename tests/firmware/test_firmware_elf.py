# SPDX-License-Identifier: Apache-2.0
"""Images that must be refused, built or bent for the purpose, and what is read from good ones."""

from __future__ import annotations

import json
import shutil
import struct
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from firmware_tree import Builder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxconsole.boards import Board, Plan
from maxconsole.errors import UserError
from maxconsole.firmware.checks import ImageRefusedError, check_image
from maxconsole.firmware.elf import read_elf, report
from maxconsole.firmware.symbols import Symbolizer

MIB = 1 << 20


@pytest.fixture
def image(warm_builder: Builder, tmp_path: Path) -> Path:
    """A good image that the test may overwrite."""
    return Path(shutil.copy(warm_builder().elf, tmp_path / "firmware.elf"))


def move_section(path: Path, name: str, address: int) -> None:
    """Changes where a section header says that the section lies (`sh_addr`, 16 bytes into the header)."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        header = elf["e_shoff"] + elf.get_section_index(name) * elf["e_shentsize"]
    patch(path, header + 16, struct.pack("<Q", address))


def patch(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def refused(path: Path, board: Board, plan: Plan) -> str:
    with pytest.raises(ImageRefusedError) as caught:
        check_image(read_elf(path), board, plan)
    return "\n".join(caught.value.reasons)


def test_a_good_image_passes(image: Path, board: Board, unbound: Plan) -> None:
    check_image(read_elf(image), board, unbound)


@pytest.mark.parametrize(
    "name", ["malloc", "free", "calloc", "realloc", "sbrk", "_sbrk", "_malloc_r", "_Znwm", "_ZdlPv"]
)
def test_a_heap_function_is_refused_and_leaves_no_image(name: str, warm_builder: Builder) -> None:
    warm_builder.tree.write("memory/heap.c", f"int {name}(int);\nint {name}(int a) {{ return a; }}\n")
    warm_builder.tree.replace("engine/main.c", "counter = add", f"int {name}(int);\n    counter = {name}(1) + add")
    with pytest.raises(ImageRefusedError, match=f"heap function {name}:"):
        warm_builder()


def test_names_that_only_look_like_a_heap_are_accepted(warm_builder: Builder) -> None:
    warm_builder.tree.write("memory/pool.c", "int pool_free(int);\nint pool_free(int a) { return a; }\n")
    warm_builder.tree.replace("engine/main.c", "counter = add", "int pool_free(int);\n    counter = pool_free(1) + add")
    assert warm_builder().elf.is_file()


def test_an_unaligned_pool_is_refused_by_the_linker_script(warm_builder: Builder) -> None:
    pool = warm_builder.plan.kv_cache
    warm_builder.plan = replace(warm_builder.plan, kv_cache=replace(pool, base=pool.base + 4096))
    with pytest.raises(UserError, match="KV_CACHE is not whole 2 MiB blocks"):
        warm_builder()


def test_an_unaligned_pool_is_refused_without_the_linker_scripts_help(image: Path, board: Board, unbound: Plan) -> None:
    move_section(image, ".kv_cache_pool", unbound.kv_cache.base + 64)
    assert "does not start and end at multiples of 0x200000" in refused(image, board, unbound)


def test_a_pool_in_a_carve_out_is_refused(warm_builder: Builder) -> None:
    warm_builder.plan = replace(warm_builder.plan, weight=replace(warm_builder.plan.weight, base=0x9000_0000))
    with pytest.raises(ImageRefusedError, match=r"\.weight_pool 0x90000000.* overlaps NPU_MEM 0x90000000"):
        warm_builder()


def test_a_pool_in_a_reserved_range_is_refused(warm_builder: Builder) -> None:
    pool = replace(warm_builder.plan.activation, base=0x8200_0000)
    warm_builder.plan = replace(warm_builder.plan, activation=pool)
    with pytest.raises(ImageRefusedError, match=r"\.activation_pool .* overlaps boot ROM"):
        warm_builder()


def test_a_pool_outside_the_ram_is_refused(warm_builder: Builder) -> None:
    pool = replace(warm_builder.plan.kv_cache, base=0xA000_0000)
    warm_builder.plan = replace(warm_builder.plan, kv_cache=pool)
    with pytest.raises(ImageRefusedError, match="outside the RAM of aimax395-virtual"):
        warm_builder()


def test_a_pool_that_is_not_where_the_plan_puts_it_is_refused(image: Path, board: Board, unbound: Plan) -> None:
    other = replace(unbound, weight=replace(unbound.weight, base=unbound.weight.base + 2 * MIB))
    assert "pool WEIGHT" in refused(image, board, other)


def test_overlapping_pools_are_refused(image: Path, board: Board, unbound: Plan) -> None:
    move_section(image, ".activation_pool", unbound.weight.base + 2 * MIB)
    assert ".weight_pool" in refused(image, board, unbound)
    assert "overlap" in refused(image, board, unbound)


def test_a_section_over_another_is_refused(image: Path, board: Board, unbound: Plan) -> None:
    stacks = next(part for part in read_elf(image).sections if part.name == ".stacks")
    move_section(image, ".rtt", stacks.address)
    assert "overlap" in refused(image, board, unbound)


def test_memory_that_is_writable_and_executable_is_refused(image: Path, board: Board, unbound: Plan) -> None:
    with image.open("rb") as file:
        elf = ELFFile(file)
        flags = elf["e_phoff"] + 4  # of the first program header
    patch(image, flags, struct.pack("<I", 7))
    assert "both writable and executable" in refused(image, board, unbound)


def test_an_entry_outside_the_code_is_refused(image: Path, board: Board, unbound: Plan) -> None:
    patch(image, 24, struct.pack("<Q", unbound.weight.base))  # e_entry
    assert "is not in executable memory" in refused(image, board, unbound)


def test_an_rtt_block_in_cacheable_memory_is_refused(warm_builder: Builder) -> None:
    warm_builder.tree.replace("link/rtt.c", '__attribute__((section(".rtt"))) ', "")
    with pytest.raises(ImageRefusedError, match=r"_SEGGER_RTT at 0x[0-9a-f]+ is not in section \.rtt"):
        warm_builder()


def test_an_image_without_a_pool_is_refused(image: Path, board: Board, unbound: Plan) -> None:
    elf = read_elf(image)
    pools = {name: place for name, place in elf.pools.items() if name != "WEIGHT"}
    with pytest.raises(ImageRefusedError, match="no pool WEIGHT"):
        check_image(replace(elf, pools=pools), board, unbound)


def test_the_report_is_json_and_adds_up(image: Path, unbound: Plan) -> None:
    elf = read_elf(image)
    facts = json.loads(json.dumps(asdict(report(elf))))
    assert facts["image_limit_bytes"] == unbound.image.size_bytes
    assert {pool["name"]: pool["address"] for pool in facts["pools"]} == {p.name: p.base for p in unbound.pools}
    assert facts["loaded_bytes"] < facts["image_bytes"] <= facts["image_limit_bytes"]


def test_segments_are_what_a_loader_writes_and_pools_are_in_none(image: Path, unbound: Plan) -> None:
    elf = read_elf(image)
    assert elf.segments[0].address == unbound.image.base
    for segment in elf.segments:
        assert unbound.image.base <= segment.address
        assert segment.address + segment.memory_bytes <= unbound.image.end


def test_a_missing_symbol_is_a_plain_message(image: Path) -> None:
    with pytest.raises(UserError, match="has no symbol nothing_here"):
        read_elf(image).address_of("nothing_here")


def test_a_program_for_the_host_is_refused() -> None:
    with pytest.raises(UserError, match=r"not a 64-bit little-endian AArch64 executable|not a usable ELF"):
        read_elf(Path(shutil.which("sh") or "/bin/sh"))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_gives_a_message_or_facts_but_never_a_traceback(image: Path, data: st.DataObject) -> None:
    content = bytearray(image.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = image.with_name("damaged.elf")
    damaged.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        entry = read_elf(damaged).entry
        Symbolizer(damaged).symbolize(entry)
    except UserError as error:
        assert "damaged.elf" in str(error)  # noqa: PT017  # either outcome is right
