# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from firmware_tree import Builder, FirmwareTree

from maxconsole.boards import Board, Plan, load_board, plan_unbound
from maxconsole.errors import UserError
from maxconsole.firmware.build import build
from maxconsole.firmware.diagnostics import CompileError
from maxconsole.firmware.elf import read_elf
from maxconsole.firmware.toolchain import Toolchain


def test_an_image_carries_its_build_id_and_lies_where_the_plan_says(builder: Builder) -> None:
    built = builder()
    elf = read_elf(built.elf)
    assert elf.build_id == built.build_id
    assert elf.entry == builder.plan.image.base
    assert elf.pools["KV_CACHE"].base == builder.plan.kv_cache.base
    assert built.compiled == 4


def test_a_second_build_compiles_nothing_and_takes_less_than_a_third_of_a_second(builder: Builder) -> None:
    first = builder()
    started = time.monotonic()
    second = builder()
    assert time.monotonic() - started < 0.3
    assert (second.elf, second.compiled, second.reused) == (first.elf, 0, 4)


def test_a_changed_source_compiles_one_object_and_gives_a_new_build_id(builder: Builder) -> None:
    first = builder()
    builder.tree.replace("kernels/add.c", "a + b", "b + a + a")
    second = builder()
    assert (second.compiled, second.reused) == (1, 3)
    assert second.build_id != first.build_id


def test_a_changed_header_compiles_only_what_includes_it(builder: Builder) -> None:
    builder()
    builder.tree.replace("kernels/add.h", "STEP 1", "STEP 2")
    assert builder().compiled == 3  # all but start.S


def test_going_back_to_an_earlier_state_compiles_nothing(builder: Builder) -> None:
    first = builder()
    builder.tree.replace("kernels/add.h", "STEP 1", "STEP 2")
    builder()
    builder.tree.replace("kernels/add.h", "STEP 2", "STEP 1")
    again = builder()
    assert (again.compiled, again.build_id) == (0, first.build_id)


def test_a_header_that_starts_to_include_another_is_followed(builder: Builder) -> None:
    builder.tree.write("kernels/step.h", "#define EXTRA 1\n")
    builder()
    builder.tree.replace("kernels/add.h", "#define STEP 1", '#include "kernels/step.h"\n#define STEP EXTRA')
    one = builder()
    builder.tree.write("kernels/step.h", "#define EXTRA 2\n")
    two = builder()
    assert two.compiled == 3
    assert two.build_id != one.build_id


def test_a_larger_model_links_again_but_compiles_nothing(builder: Builder, board: Board) -> None:
    first = builder()
    weight = builder.plan.weight
    builder.plan = replace(builder.plan, weight=replace(weight, size_bytes=weight.size_bytes - (2 << 20)))
    second = builder()
    assert second.compiled == 0
    assert second.build_id != first.build_id


def test_the_same_sources_in_another_folder_give_the_same_image(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = builder()
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path / "other cache"))
    builder.tree = FirmwareTree(tmp_path / "elsewhere" / "firmware")
    second = builder()
    assert second.compiled == 4
    assert second.build_id == first.build_id
    assert second.elf.read_bytes() == first.elf.read_bytes()


def test_defines_reach_the_sources(warm_builder: Builder) -> None:
    warm_builder.tree.replace("engine/main.c", "int main(void);", "int main(void);\nint marker_for_test = MARKER;")
    warm_builder.tree.replace("engine/main.c", "return ", "return marker_for_test + ")
    assert read_elf(warm_builder(defines={"MARKER": "7"}).elf).address_of("marker_for_test")


def test_the_checkasm_image_has_a_main_of_its_own(warm_builder: Builder) -> None:
    built = warm_builder("checkasm")
    assert "counter" not in read_elf(built.elf).symbols
    assert built.build_id != warm_builder("engine").build_id


def test_progress_counts_every_file_and_the_link(builder: Builder) -> None:
    steps: list[tuple[int, int, str]] = []
    builder(progress=lambda done, total, name: steps.append((done, total, name)))
    assert [done for done, _, _ in steps] == [1, 2, 3, 4, 5]
    assert {total for _, total, _ in steps} == {5}
    assert steps[-1][2] == "link"


def test_two_builds_at_once_share_the_cache(builder: Builder) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: builder(), range(4)))
    assert len({item.elf for item in results}) == 1
    assert results[0].elf.is_file()


def test_a_compile_error_names_file_line_and_column(warm_builder: Builder) -> None:
    warm_builder.tree.replace("kernels/add.c", "return a + b * STEP;", "return a + missing;")
    with pytest.raises(CompileError) as caught:
        warm_builder()
    first = caught.value.diagnostics[0]
    assert (first.file, first.line, first.column, first.severity) == ("firmware/kernels/add.c", 5, 16, "error")
    assert "firmware/kernels/add.c:5:16: error:" in str(caught.value)


def test_errors_of_several_files_are_reported_together(warm_builder: Builder) -> None:
    warm_builder.tree.write("kernels/one.c", "int one = missing_one;\n")
    warm_builder.tree.write("kernels/two.c", "int two = missing_two;\n")
    with pytest.raises(CompileError) as caught:
        warm_builder()
    assert {item.file for item in caught.value.diagnostics} >= {"firmware/kernels/one.c", "firmware/kernels/two.c"}


def test_an_undefined_symbol_is_reported_with_its_place(warm_builder: Builder) -> None:
    warm_builder.tree.replace("engine/main.c", "counter = add", "int nowhere(int);\n    counter = nowhere(1) + add")
    with pytest.raises(CompileError, match="nowhere") as caught:
        warm_builder()
    assert any(item.file == "firmware/engine/main.c" for item in caught.value.diagnostics)


def test_an_image_larger_than_its_region_is_refused_by_the_linker(warm_builder: Builder) -> None:
    warm_builder.tree.replace("link/rtt.c", "_SEGGER_RTT[64]", "_SEGGER_RTT[4000000]")
    with pytest.raises(CompileError, match=r"IMAGE.*overflow|will not fit"):
        warm_builder()


def test_a_section_without_a_place_is_refused_by_the_linker(warm_builder: Builder) -> None:
    warm_builder.tree.replace("engine/main.c", "static int counter", '__attribute__((section("odd"))) int counter')
    with pytest.raises(CompileError, match="odd"):
        warm_builder()


def test_a_failed_build_leaves_no_image_and_the_next_one_works(builder: Builder, cache: Path) -> None:
    builder.tree.replace("kernels/add.c", "return a + b * STEP;", "return a + missing;")
    with pytest.raises(CompileError):
        builder()
    assert not list((cache / "build").glob("images/*"))
    builder.tree.replace("kernels/add.c", "missing", "b")
    assert builder().elf.is_file()


def test_a_build_can_be_stopped(builder: Builder, tmp_path: Path, board: Board, unbound: Plan) -> None:
    slow = tmp_path / "slow-cc"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    stuck = Toolchain("gcc", (str(slow),), (str(slow),), "slow 1.0")
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(UserError, match="stopped"):
        builder(toolchain=stuck, cancel=cancel)
    assert time.monotonic() - started < 5


def test_a_cache_that_cannot_be_used_is_a_plain_message(builder: Builder, cache: Path) -> None:
    (cache / "build").mkdir(parents=True)
    (cache / "build" / "objects").write_text("a file where a folder belongs")
    with pytest.raises(UserError, match="the build failed in") as caught:
        builder()
    assert "MAXCONSOLE_CACHE" in caught.value.hint


def test_a_board_with_unknown_registers_is_refused_before_compiling(tree: FirmwareTree, toolchain: Toolchain) -> None:
    board = load_board("aimax395")
    with pytest.raises(UserError, match=r"these are unknown: cpu\.clock_hz, uart\.base, .*boot\.core_ids"):
        build(board, plan_unbound(board), sources=tree.root, toolchain=toolchain)


def test_results_that_nobody_used_for_a_month_are_removed(builder: Builder, cache: Path) -> None:
    first = builder()
    old = time.time() - 40 * 24 * 3600
    for entry in (first.elf.parent, *(cache / "build" / "objects").iterdir()):
        os.utime(entry, (old, old))
    builder.tree.replace("kernels/add.c", "a + b", "b + a + a")
    second = builder()
    assert second.elf.is_file()
    assert not first.elf.exists()


def test_the_two_images_share_what_both_compile(builder: Builder) -> None:
    builder("engine")
    assert builder("checkasm").compiled == 1  # its own main
