# SPDX-License-Identifier: Apache-2.0
"""Every generated struct survives pack and unpack, through numpy too, and refuses what does not fit."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxconsole.schema import wire
from maxconsole.schema.definition import Field, Schema, Struct, read_schema

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = {
    name: read_schema(ROOT / "firmware" / "schema" / f"{name}.toml") for name in ("wire", "image", "device_page", "npu")
}
CASES = [(name, struct.name) for name, schema in SCHEMAS.items() for struct in schema.structs]

BITS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}


def values_of(type_: str, count: int | None, schema: Schema) -> st.SearchStrategy[Any]:
    if type_ == "char":
        text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=count or 1)
        return text.filter(lambda value: len(value.encode()) <= (count or 1))
    if type_ == "u8" and count is not None:
        return st.binary(min_size=count, max_size=count)
    if type_ in BITS:
        one: st.SearchStrategy[Any] = st.integers(0, 2 ** BITS[type_] - 1)
    elif type_ == "i64":
        one = st.integers(-(2**63), 2**63 - 1)
    elif type_ == "f32":
        one = st.floats(width=32, allow_nan=False)
    else:
        one = instances(schema.struct(type_), schema)
    return one if count is None else st.lists(one, min_size=count, max_size=count).map(tuple)


def instances(struct: Struct, schema: Schema) -> st.SearchStrategy[Any]:
    cls = getattr(importlib.import_module(f"maxconsole.schema.{schema.name}"), struct.name)
    arguments = {f.name: values_of(f.type, f.count, schema) for f in struct.fields if not f.reserved}
    if struct.tail == "char":
        arguments["tail"] = st.binary(max_size=20)
    elif struct.tail:
        arguments["tail"] = st.lists(values_of(struct.tail, None, schema), max_size=3).map(tuple)
    return st.builds(cls, **arguments)


@pytest.mark.parametrize(("schema_name", "struct_name"), CASES)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_pack_then_unpack_is_the_identity(schema_name: str, struct_name: str, data: st.DataObject) -> None:
    schema = SCHEMAS[schema_name]
    value = data.draw(instances(schema.struct(struct_name), schema))
    packed = value.pack()
    assert type(value).unpack(packed) == value
    assert type(value).unpack(memoryview(packed)) == value


def equal(field: Field, from_numpy: Any, value: Any) -> bool:
    if field.type == "char":
        return bool(from_numpy == value.encode())
    if field.type == "u8" and field.count is not None:
        return bool(from_numpy.tobytes() == value)
    return bool(np.array_equal(from_numpy, np.asarray(value, dtype=from_numpy.dtype)))


@given(data=st.data())
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("struct_name", ["KernelEvent", "KernelTotal", "Hello", "Generate", "Fault"])
def test_numpy_reads_the_same_fields(struct_name: str, data: st.DataObject) -> None:
    schema = SCHEMAS["wire"]
    struct = schema.struct(struct_name)
    value = data.draw(instances(struct, schema))
    record = np.frombuffer(value.pack()[: value.SIZE], dtype=value.DTYPE)[0]
    for field in struct.fields:
        if not field.reserved:
            assert equal(field, record[field.name], getattr(value, field.name))


def token(**changes: Any) -> wire.Token:
    return dataclasses.replace(wire.Token(request=1, position=2, token=3, logprob=-0.5), **changes)


@pytest.mark.parametrize("changes", [{"request": 2**32}, {"position": -1}, {"logprob": 1e39}])
def test_values_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Token"):
        token(**changes).pack()


def test_text_and_arrays_that_do_not_fit_are_refused() -> None:
    pool = wire.Pool(name="weights", base=0, bytes=1, used=0)
    with pytest.raises(ValueError, match="17 bytes of text do not fit 16"):
        dataclasses.replace(pool, name="x" * 17).pack()
    with pytest.raises(ValueError, match="NUL"):
        dataclasses.replace(pool, name="a\0b").pack()
    part = wire.PromptPart(request=1, offset=0, tail=(1, 2**32))
    with pytest.raises(ValueError, match=r"PromptPart\.tail"):
        part.pack()


def test_shorter_arrays_are_filled_with_zeros() -> None:
    total = wire.KernelTotal(kernel=1, core=0, phase=0, count=1, cycles=2, instructions=3, work=4, counters=(5,))
    assert wire.KernelTotal.unpack(total.pack()).counters == (5, 0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="7 values do not fit 6"):
        dataclasses.replace(total, counters=(0,) * 7).pack()


@pytest.mark.parametrize("cut", [0, 1, 15, 17])
def test_data_of_the_wrong_length_is_refused(cut: int) -> None:
    packed = (token().pack() * 2)[:cut]
    with pytest.raises(ValueError, match="16 are needed"):
        wire.Token.unpack(packed)


def test_a_ragged_tail_is_refused() -> None:
    with pytest.raises(ValueError, match="no multiple of 64"):
        wire.Kernels.unpack(bytes(63))
    with pytest.raises(ValueError, match="no multiple of 4"):
        wire.PromptPart.unpack(bytes(11))


def test_board_text_that_is_not_utf8_does_not_raise() -> None:
    packed = bytearray(wire.Pool(name="", base=0, bytes=0, used=0).pack())
    packed[0:3] = b"\xff\xfeA"
    assert wire.Pool.unpack(bytes(packed)).name == "\ufffd\ufffdA"
