# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxconsole.boards import Board, ModelFacts, Plan, list_boards, load_board, longest_context, plan, plan_unbound
from maxconsole.boards.memory_model import (
    KV_PAGE_TOKENS,
    SINKS,
    activation_buffers,
    activation_bytes,
    kv_bytes_per_token,
    kv_cache_bytes,
    kv_pages,
)
from maxconsole.boards.ranges import BLOCK_BYTES, MIB, MemoryRange, first_overlap
from maxconsole.errors import DoesNotFit, UserError

SMOLLM2_135M = ModelFacts("llama", 30, 576, 1536, 9, 3, 64, 49152, 8192, 90 * MIB)
QWEN2_1_5B = ModelFacts("qwen2", 28, 1536, 8960, 12, 2, 128, 151936, 32768, 940 * MIB)
QWEN_7B = ModelFacts("qwen2", 28, 3584, 18944, 28, 4, 128, 152064, 131072, 4400 * MIB)


def check_layout(board: Board, made: Plan) -> None:
    places = [made.image, *(pool.range for pool in made.pools)]
    holes = [*board.memory.reserved, *board.memory.carve_outs]
    assert first_overlap([*places, *holes]) is None
    for place in places:
        assert place.base % BLOCK_BYTES == place.size_bytes % BLOCK_BYTES == 0
        assert any(ram.contains(place) for ram in board.memory.ram)
    for pool in made.pools:
        assert pool.used_bytes <= pool.size_bytes < pool.used_bytes + BLOCK_BYTES
    taken = sum(part.size_bytes for part in (*places, *holes, *made.free))
    assert taken == sum(ram.size_bytes for ram in board.memory.ram)


def test_the_demo_model_fits_the_default_board_where_the_report_puts_it() -> None:
    board = load_board()
    made = plan(board, SMOLLM2_135M, context=512, batch=64)
    check_layout(board, made)
    assert made.image.base == 0x8400_0000
    assert made.weight.base == 0x8480_0000
    assert made.longest_context == 8192


def test_a_pool_that_does_not_fit_below_the_carve_out_goes_above_it() -> None:
    board = load_board()
    made = plan(board, replace(SMOLLM2_135M, image_bytes=183 * MIB))
    check_layout(board, made)
    assert made.kv_cache.base >= 0x9400_0000


def test_pools_that_fit_in_only_one_arrangement_are_placed_there() -> None:
    board = load_board()
    facts = replace(SMOLLM2_135M, image_bytes=170 * MIB)
    context = longest_context(board, facts)
    assert context == 8192
    check_layout(board, plan(board, facts, context))


def test_a_model_of_1_5_billion_weights_is_refused_with_the_boards_that_hold_it() -> None:
    with pytest.raises(DoesNotFit, match="does not fit aimax395-virtual") as caught:
        plan(load_board(), QWEN2_1_5B, 512)
    assert "940.0 MiB" in caught.value.what
    assert "too much" in caught.value.what
    assert "rpi5-virtual" in caught.value.hint
    assert caught.value.exit_code == 5


def test_a_context_that_is_too_long_is_answered_with_the_one_that_fits() -> None:
    board = load_board("rpi5-virtual")
    facts = replace(QWEN2_1_5B, image_bytes=1600 * MIB)
    with pytest.raises(DoesNotFit) as caught:
        plan(board, facts, 32768)
    shorter = longest_context(board, facts)
    assert f"--context {shorter} would fit" in caught.value.hint
    check_layout(board, plan(board, facts, shorter))
    with pytest.raises(DoesNotFit):
        plan(board, facts, shorter + 2 * BLOCK_BYTES // kv_bytes_per_token(facts))


def test_a_model_that_no_board_holds_says_so() -> None:
    with pytest.raises(DoesNotFit, match="does not fit rpi5") as caught:
        plan(load_board("rpi5"), QWEN_7B, 512)
    assert "a smaller model is needed" in caught.value.hint


@pytest.mark.parametrize("name", list_boards())
def test_every_shipped_board_holds_an_image_without_a_model(name: str) -> None:
    board = load_board(name)
    made = plan_unbound(board)
    assert first_overlap([made.image, *(pool.range for pool in made.pools)]) is None
    assert made.longest_context is None


@pytest.mark.parametrize(
    ("context", "batch"), [(0, 64), (63, 64), (8193, 64), (1 << 40, 64), (512, 0), (512, 513), (-1, 1)]
)
def test_absurd_values_are_refused_at_once(context: int, batch: int) -> None:
    started = time.monotonic()
    with pytest.raises(UserError, match="is not possible"):
        plan(load_board(), SMOLLM2_135M, context, batch)
    assert time.monotonic() - started < 0.5


@pytest.mark.parametrize(
    "change", [{"layers": 0}, {"hidden": -1}, {"vocabulary": 1 << 40}, {"image_bytes": 1 << 60}, {"kv_heads": 2}]
)
def test_shapes_that_no_model_has_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(UserError, match="the model's"):
        replace(SMOLLM2_135M, **change)


def test_a_board_without_room_for_the_image_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tiny.toml"
    ram = "ram = [{ base = 0x8000_0000, size_bytes = 0x40_0000 }]"
    file.write_text(f'extends = "aimax395"\nname = "tiny"\n[memory]\n{ram}\nreserved = []\ncarve_outs = []\n')
    file.write_text(file.read_text() + '[npu]\ncarve_out = "NPU_MEM"\n')
    with pytest.raises(UserError, match="no range of this name"):
        load_board(file)
    text = file.read_text().replace(
        "carve_outs = []", 'carve_outs = [{ name = "NPU_MEM", base = 0x8000_0000, size_bytes = 0x1000 }]'
    )
    file.write_text(text)
    with pytest.raises(DoesNotFit, match=r"no free range of 8\.0 MiB for the firmware image"):
        plan_unbound(load_board(file))


@given(st.integers(64, 1 << 20), st.integers(1, 512), st.integers(0, 1 << 30))
def test_the_ring_holds_window_and_batch_wherever_they_start_in_a_page(context: int, batch: int, start: int) -> None:
    """A batch that follows a full window touches no more pages than the ring has, and a smaller ring would not do."""
    ring_pages = kv_pages(context, batch) - 1
    held = context - SINKS - 1 + batch  # the window of the batch's first token, and the batch
    first, last = start // KV_PAGE_TOKENS, (start + held - 1) // KV_PAGE_TOKENS
    assert last - first + 1 <= ring_pages
    assert (held + 2 * KV_PAGE_TOKENS - 2) // KV_PAGE_TOKENS + 1 >= ring_pages


def test_the_demo_models_kv_bytes() -> None:
    assert kv_bytes_per_token(SMOLLM2_135M) == 30 * 3 * (64 + 4 + 64 + 4)
    assert kv_cache_bytes(SMOLLM2_135M, 512, 64) == 20 * 32 * (12240 + 4)


def test_the_demo_models_activation_bytes() -> None:
    """Added up by hand from the list at the top of firmware/engine/forward.h, with B = 64, K = 1536 and N = 4."""
    rows = 64 * 576 * 4 + 64 * 576 * 4 + 2 * 64 * 192 * 4 + 65 * 1536 * 4
    rows += 4 * 8 * 576 * 4 + 3 * 1536 * 4 + 4 * 64 * 64
    quantized = 64 * 1536 + 64 * 1536 // 4 + 64 * 1536 // 8 + 64 * 4
    quantized += 64 * 1536 + 64 * 1536 // 8 + 64 * 4
    rest = (65 * 64 * 4) + 4 * (16 * 1536 + 4 * 1536 + 64) + 4 * 49152 + 49152 // 8
    assert activation_bytes(SMOLLM2_135M, 64, 4) == rows + quantized + rest


@given(st.integers(1, 512))
def test_every_activation_buffer_is_whole_cache_lines(batch: int) -> None:
    odd = replace(SMOLLM2_135M, hidden=577, ffn=1501, heads=7, kv_heads=7, head_dim=66, vocabulary=50001)
    assert all(size % 64 == 0 for size in activation_buffers(odd, batch, 3).values())


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 420).map(lambda size: size * MIB),
    st.integers(64, 8192),
    st.sampled_from([1, 32, 64, 256]),
    st.lists(st.tuples(st.integers(0, 255), st.integers(1, 60)), max_size=3),
)
def test_any_plan_keeps_clear_of_reserved_memory(
    image_bytes: int, context: int, batch: int, holes: list[tuple[int, int]]
) -> None:
    board = load_board()
    ram = board.memory.ram[0]
    carve_outs = [MemoryRange(ram.base + block * BLOCK_BYTES, pages * 4096, "hole") for block, pages in holes]
    carve_outs = [hole for hole in carve_outs if ram.contains(hole)]
    if first_overlap([*board.memory.reserved, *carve_outs]) is not None:
        return
    board = replace(board, memory=replace(board.memory, carve_outs=tuple(carve_outs)), npu=None)
    facts = replace(SMOLLM2_135M, image_bytes=image_bytes)
    try:
        made = plan(board, facts, context, batch)
    except DoesNotFit:
        assert longest_context(board, facts, batch) < context
    else:
        check_layout(board, made)
        assert made.longest_context is not None
        assert made.longest_context >= context
