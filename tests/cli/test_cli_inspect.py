# SPDX-License-Identifier: Apache-2.0
"""`maxconsole inspect` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maxconsole.cli.app import app


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["inspect", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_exports_need_a_measurement(tmp_path: Path) -> None:
    assert run("--folded", str(tmp_path / "stacks"))[0] == 2
    assert run("--measure", "Hi", "--elf", "firmware.elf")[0] == 2


def test_without_a_compiler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXCONSOLE_CC", "no-such-compiler")
    code, out, err = run("gemm")
    assert (code, out) == (3, "")
    assert "gcc-aarch64-linux-gnu" in err


def test_a_file_that_is_no_image_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.elf"
    file.write_text("not an ELF file")
    code, _, err = run("--elf", str(file))
    assert code == 1
    assert "not a usable ELF file" in err


@pytest.mark.system
def test_an_unknown_kernel_lists_names_that_are_near() -> None:
    code, out, err = run("gemm_tiel_8_minimum")
    assert (code, out) == (1, "")
    assert "near: gemm_tile_8_minimum" in err


@pytest.mark.system
def test_all_kernels_are_listed_in_80_columns() -> None:
    code, out, _ = run()
    assert code == 0
    assert any(line.split()[:2] == ["gemm", "gemm_tile_8_minimum"] for line in out.splitlines())
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.system
def test_a_kernel_of_the_kernel_table_is_found_by_its_name_there() -> None:
    code, out, _ = run("linear_q", "--json")
    assert code == 0
    names = {function["name"] for function in json.loads(out)["functions"]}
    assert {"gemm_tile_8_minimum", "gemv_q4_1"} <= names


@pytest.mark.system
def test_json_has_loops_bounds_and_code() -> None:
    code, out, _ = run("gemm_tile_8_minimum", "--json")
    assert code == 0
    (function,) = json.loads(out)["functions"]
    (loop,) = function["loops"]
    assert loop["busiest"] == "V"
    assert loop["bound"]["cycles"] > 0
    assert loop["stack_loads"] == loop["stack_stores"] == 0
    assert {line["file"] for line in function["code"]} == {"firmware/kernels/gemm_tile.S"}


@pytest.mark.system
def test_hot_loops_alone_with_their_source() -> None:
    code, out, _ = run("gemm_tile_8_minimum", "--hot", "--source")
    assert code == 0
    lines = out.splitlines()
    assert any(line.startswith("gemm_tile.S:") for line in lines)
    code_lines = [line for line in lines if line[:8].isalnum() and line[8:9] == " " and not line.startswith("gemm")]
    assert code_lines
    assert all("*" in line[9:14] for line in code_lines)
