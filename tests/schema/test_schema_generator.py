# SPDX-License-Identifier: Apache-2.0
"""The generator refuses what it cannot express, and its output is what lies in the tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from maxconsole.schema.definition import SchemaError, read_schema
from maxconsole.schema.generator import generated, main

ROOT = Path(__file__).resolve().parents[2]


def schema_error(tmp_path: Path, text: str) -> str:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        read_schema(path)
    return str(caught.value)


def test_the_generated_files_in_the_tree_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "generate-schemas"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0


def test_check_reports_a_stale_file_and_leaves_it_alone(tmp_path: Path) -> None:
    (tmp_path / "firmware" / "schema").mkdir(parents=True)
    (tmp_path / "console" / "maxconsole" / "schema").mkdir(parents=True)
    source = tmp_path / "firmware" / "schema" / "wire.toml"
    source.write_text('[struct.A]\nx = "u32"\n')
    assert main(tmp_path, ["--check"]) == 1
    assert not source.with_suffix(".h").exists()
    assert main(tmp_path, []) == 0
    assert main(tmp_path, ["--check"]) == 0
    source.write_text('[struct.A]\nx = "u64"\n')
    assert main(tmp_path, ["--check"]) == 1


def test_a_broken_schema_is_reported_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "firmware" / "schema").mkdir(parents=True)
    (tmp_path / "firmware" / "schema" / "wire.toml").write_text('[struct.A]\nx = "u7"\n')
    assert main(tmp_path, []) == 2
    assert "unknown type u7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('[struct.A]\na = "u8"\nb = "u32"\n', "struct.A.b: at offset 1, which needs 3 bytes"),
        ('[struct.A]\na = "u32"\nb = "u8"\n', "5 bytes, which needs 3 more at the end"),
        ('[struct.A]\na = "u32"\ntail = "u64"\n', "4 bytes, which needs 4 more at the end"),
        ('[struct.A]\na = "u128"\n', "unknown type u128"),
        ('[struct.A]\na = "B"\n[struct.B]\nx = "u8"\n', "unknown type B; a struct must be described before"),
        ('[struct.A]\na = "u8[0]"\n', "an array of nothing"),
        ('[struct.A]\na = "u8[]"\n', "is not a type"),
        ("[struct.A]\na = 3\n", "3 is not a type"),
        ('[struct.A]\ntail = "u8[4]"\n', "a tail is open-ended"),
        ('[struct.A]\ntail = "u8"\nx = "u8"\n', "follows `tail`"),
        ('[struct.A]\ntail = "u8"\n[struct.B]\nx = "A"\n', "open-ended and cannot be inside"),
        ("[struct.A]\n", "struct.A: empty"),
        ("[enum.E]\n", "enum.E: empty"),
        ("[enum.E]\na = 1\nb = 1\n", "1 is already a"),
        ("[enum.E]\na = -1\n", "-1 is not a number"),
        ("[enum.E]\na = true\n", "True is not a number"),
        ("[enum.SomeFlag]\na = 3\n", "3 is not one bit"),
        ("[enum.E]\n'a b' = 3\n", "not a name"),
        ("[constants]\nA = 4294967296\n", "is not a number"),
        ('[c_name]\nB = "x"\n[struct.A]\nx = "u8"\n', "no struct B"),
        ('[c_name]\nA = "b"\n[struct.A]\nx = "u8"\n[struct.B]\nx = "u8"\n', "same name in C"),
        ("[typo]\n", "unknown table typo"),
        ("[struct.A", "broken.toml"),
    ],
)
def test_the_generator_refuses(tmp_path: Path, text: str, rule: str) -> None:
    message = schema_error(tmp_path, text)
    assert rule in message
    assert message.startswith("broken.toml")


def test_the_hash_follows_the_content_and_not_the_comments(tmp_path: Path) -> None:
    path = tmp_path / "wire.toml"

    def hash_of(text: str) -> int:
        path.write_text(text)
        return read_schema(path).hash

    plain = hash_of('[struct.A]\nx = "u32"\ny = "u32"\n')
    assert hash_of('# words\n[struct.A] # more\nx  =  "u32"   # and more\ny = "u32"\n') == plain
    assert hash_of('[struct.A]\ny = "u32"\nx = "u32"\n') != plain
    assert hash_of('[struct.A]\nx = "u32"\ny = "i32"\n') != plain


def test_comments_of_the_schema_reach_both_languages() -> None:
    texts = {path.name: text for path, text in generated(ROOT)}
    assert "// tokens a query can see" in texts["wire.h"]
    assert "# tokens a query can see" in texts["wire.py"]
