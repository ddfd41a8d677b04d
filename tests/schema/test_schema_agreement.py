# SPDX-License-Identifier: Apache-2.0
"""The schema files, the C compiler and the Python modules agree on every value, size and offset."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from enum import IntEnum, IntFlag
from pathlib import Path

import pytest

from maxconsole.schema.definition import Schema, read_schema, snake

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ["wire", "image", "device_page"]


def schema_of(name: str) -> Schema:
    return read_schema(ROOT / "firmware" / "schema" / f"{name}.toml")


def probe_source(schema: Schema) -> str:
    """A C program that prints `expression value` for everything in the header."""
    terms = [name for name, _, _ in schema.constants]
    terms += ["SCHEMA_HASH"] if schema.name == "wire" else []
    for enumeration in schema.enumerations:
        terms += [f"{snake(enumeration.name).upper()}_{member}" for member, _, _ in enumeration.members]
    for struct in schema.structs:
        if struct.fields:
            terms.append(f"sizeof(struct {struct.c_name})")
            terms += [f"offsetof(struct {struct.c_name}, {field.name})" for field in struct.fields]
            terms += [f"sizeof(((struct {struct.c_name} *)0)->{field.name})" for field in struct.fields]
    prints = "\n".join(f'    printf("%s\\t%llu\\n", "{term}", (unsigned long long)({term}));' for term in terms)
    return (
        f'#include <stddef.h>\n#include <stdio.h>\n#include "schema/{schema.name}.h"\n'
        f'#include "schema/{schema.name}.h"\nint main(void) {{\n{prints}\n    return 0;\n}}\n'
    )


def values_in_c(schema: Schema, folder: Path) -> dict[str, int]:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on this host")
    source, program = folder / "probe.c", folder / "probe"
    source.write_text(probe_source(schema))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'firmware'}"]
    subprocess.run([compiler, *flags, source, "-o", program], check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: int(value) for name, value in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_c_compiler_and_python_agree(name: str, tmp_path: Path) -> None:
    schema = schema_of(name)
    in_c = values_in_c(schema, tmp_path)
    module = importlib.import_module(f"maxconsole.schema.{name}")
    for constant, value, _ in schema.constants:
        assert in_c[constant] == getattr(module, constant) == value
    if name == "wire":
        assert in_c["SCHEMA_HASH"] == module.SCHEMA_HASH == schema.hash
    for struct in schema.structs:
        cls = getattr(module, struct.name)
        if not struct.fields:
            assert cls.SIZE == 0
            continue
        assert in_c[f"sizeof(struct {struct.c_name})"] == cls.SIZE == cls.LAYOUT.size == cls.DTYPE.itemsize
        visible = [field.name for field in struct.fields if not field.reserved]
        assert list(cls.DTYPE.names) == visible
        for field in struct.fields:
            assert in_c[f"offsetof(struct {struct.c_name}, {field.name})"] == field.offset
            assert in_c[f"sizeof(((struct {struct.c_name} *)0)->{field.name})"] == field.size
            if not field.reserved:
                dtype, offset = cls.DTYPE.fields[field.name][:2]
                assert (offset, dtype.itemsize) == (field.offset, field.size)


@pytest.mark.parametrize("name", SCHEMAS)
def test_enumerations_agree(name: str, tmp_path: Path) -> None:
    schema = schema_of(name)
    in_c = values_in_c(schema, tmp_path)
    module = importlib.import_module(f"maxconsole.schema.{name}")
    for enumeration in schema.enumerations:
        cls = getattr(module, enumeration.name)
        assert issubclass(cls, IntFlag if enumeration.flags else IntEnum)
        prefix = snake(enumeration.name).upper()
        assert {member.name: int(member) for member in cls} == {
            member: in_c[f"{prefix}_{member}"] for member, _, _ in enumeration.members
        }
