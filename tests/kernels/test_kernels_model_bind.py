# SPDX-License-Identifier: Apache-2.0
"""Binding a weight image: what the packer writes is taken, and nothing that is wrong with one gets past or crashes."""

from __future__ import annotations

import ctypes
import mmap
import struct
import zlib
from collections.abc import Callable

import pytest
from gguf.constants import GGMLQuantizationType as Q
from gguf_files import write_model
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maxconsole.models.cache import weight_image
from maxconsole.models.reader import open_gguf
from maxconsole.schema.image import ImageHeader, TensorEntry, TensorRole
from maxconsole.schema.wire import ReplyStatus

CRC_AT = 24
#: what breaks sums, limits and signs
AWKWARD = (0, 1, 15, 17, 31, 33, 63, 64, 65, 255, 4096, 65535, 65536, 2**20, 2**31 - 1, 2**31, 2**32 - 1)

#: role, layer, format, rows, columns, offset, bytes
ENTRY_FIELDS = (("<H", 0), ("<H", 2), ("<H", 4), ("<I", 8), ("<I", 12), ("<Q", 16), ("<Q", 24))
OFFSET_AT = 16

Binder = Callable[[bytes], ReplyStatus]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("bind")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXCONSOLE_CACHE", str(folder / "cache"))
        file = open_gguf(write_model(folder / "tiny.gguf", matrix=Q.Q4_1, tied=False))
        return bytes(weight_image(file).data)


@pytest.fixture(scope="module")
def bind(library: ctypes.CDLL) -> Binder:
    """Binds an image that ends where readable memory ends; an accepted one has all its tensors inside."""
    libc = ctypes.CDLL(None, use_errno=True)

    def bind(data: bytes) -> ReplyStatus:
        room = -(-len(data) // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = mmap.mmap(-1, room + mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert libc.mprotect(ctypes.c_void_p(start + room), mmap.PAGESIZE, 0) == 0
        at = room - -(-len(data) // 64) * 64  # images are aligned
        memory[at : at + len(data)] = data
        arguments = (ctypes.c_void_p(start + at), ctypes.c_size_t(len(data)))
        status = ReplyStatus(library.host_bind(*arguments))
        if status is ReplyStatus.OK:
            assert library.host_bound_inside(*arguments)
        return status

    return bind


def resealed(data: bytearray) -> bytes:
    """With the header's CRC made right again."""
    header_bytes = struct.unpack_from("<I", data, 8)[0]
    struct.pack_into("<I", data, CRC_AT, 0)
    struct.pack_into("<I", data, CRC_AT, zlib.crc32(data[:header_bytes]))
    return bytes(data)


def changed(image: bytes, at: int, value: int, form: str = "<I") -> bytes:
    data = bytearray(image)
    struct.pack_into(form, data, at, value)
    return resealed(data)


def test_a_packed_model_is_bound(bind: Binder, image: bytes) -> None:
    assert bind(image) is ReplyStatus.OK


def test_no_image_is_no_model(bind: Binder, image: bytes) -> None:
    assert bind(bytes(4096)) is ReplyStatus.NO_MODEL
    assert bind(image[:64]) is ReplyStatus.NO_MODEL


def test_a_damaged_header_is_refused(bind: Binder, image: bytes, library: ctypes.CDLL) -> None:
    data = bytearray(image)
    data[200] ^= 1
    assert bind(bytes(data)) is ReplyStatus.BAD_VALUE
    assert b"CRC" in ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, "last_log")))


@pytest.mark.parametrize("share", [0.01, 0.3, 0.999])
def test_an_image_cut_short_is_refused(bind: Binder, image: bytes, share: float) -> None:
    cut = int(len(image) * share)
    assert bind(image[:cut]) is not ReplyStatus.OK


def header_words() -> st.SearchStrategy[int]:
    return st.integers(0, ImageHeader.SIZE // 4 - 1).map(lambda word: 4 * word).filter(lambda at: at != CRC_AT)


@settings(max_examples=300, deadline=None)
@given(at=header_words(), value=st.one_of(st.sampled_from(AWKWARD), st.integers(0, 2**32 - 1)))
@example(at=8, value=2**32 - 64)  # header_bytes
@example(at=12, value=2**32 - 1)  # tensor_count
def test_any_header_field_may_be_wrong(bind: Binder, image: bytes, at: int, value: int) -> None:
    data = bytearray(image)
    struct.pack_into("<I", data, at, value)
    header_bytes = struct.unpack_from("<I", data, 8)[0]
    bind(resealed(data) if header_bytes <= len(data) else bytes(data))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_table_field_may_be_wrong(bind: Binder, image: bytes, data: st.DataObject) -> None:
    count = struct.unpack_from("<I", image, 12)[0]
    entry = ImageHeader.SIZE + TensorEntry.SIZE * data.draw(st.integers(0, count - 1))
    form, offset = data.draw(st.sampled_from(ENTRY_FIELDS))
    width = 8 * struct.calcsize(form)
    value = data.draw(st.one_of(st.sampled_from(AWKWARD), st.integers(0, 2**width - 1))) & (2**width - 1)
    old = struct.unpack_from(form, image, entry + offset)[0]
    status = bind(changed(image, entry + offset, value, form))
    # Another aligned place inside the image is no lie that a table could tell.
    assert status is ReplyStatus.BAD_VALUE or value == old or offset == OFFSET_AT


def test_two_tensors_with_one_role_are_refused(bind: Binder, image: bytes) -> None:
    first, second = ImageHeader.SIZE, ImageHeader.SIZE + TensorEntry.SIZE
    data = bytearray(image)
    data[second : second + TensorEntry.SIZE] = data[first : first + TensorEntry.SIZE]
    assert bind(resealed(data)) is ReplyStatus.BAD_VALUE


def without(image: bytes, role: TensorRole) -> bytes:
    """The image whose table lacks the first entry of a role: the last entry takes its place."""
    data = bytearray(image)
    count = struct.unpack_from("<I", data, 12)[0]
    places = [ImageHeader.SIZE + TensorEntry.SIZE * index for index in range(count)]
    at = next(place for place in places if struct.unpack_from("<H", data, place)[0] == role)
    data[at : at + TensorEntry.SIZE] = data[places[-1] : places[-1] + TensorEntry.SIZE]
    struct.pack_into("<I", data, 12, count - 1)
    return resealed(data)


def test_a_missing_output_means_a_tied_head(bind: Binder, image: bytes) -> None:
    assert bind(without(image, TensorRole.OUTPUT)) is ReplyStatus.OK


@pytest.mark.parametrize(
    "role", [role for role in TensorRole if role is not TensorRole.OUTPUT and not role.name.endswith("BIAS")]
)
def test_a_missing_tensor_is_refused(bind: Binder, image: bytes, role: TensorRole) -> None:
    assert bind(without(image, role)) is ReplyStatus.BAD_VALUE
