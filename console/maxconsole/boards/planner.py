# SPDX-License-Identifier: Apache-2.0
"""Places the firmware image and the three pools in a board's free memory, or says why they do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maxconsole.boards.facts import ModelFacts
from maxconsole.boards.loader import list_boards, load_board
from maxconsole.boards.memory_model import activation_bytes, kv_cache_bytes, npu_bytes
from maxconsole.boards.memory_plan import Plan, PoolPlan
from maxconsole.boards.profile import Board
from maxconsole.boards.ranges import BLOCK_BYTES, MIB, MemoryRange, align_up, aligned, show_bytes, subtract
from maxconsole.errors import DoesNotFit, UserError

CONTEXT_MIN = 64
CONTEXT_MAX = 1 << 20
BATCH_MAX = 512
DEFAULT_CONTEXT = 512
DEFAULT_BATCH = BATCH_MAX
"""A prompt that fits a batch reads every weight once."""
BATCH_FLOOR = 64
"""Where memory is short, batches are halved down to this; then the model does not fit."""

_POOLS = ("WEIGHT", "ACTIVATION", "KV_CACHE")
_UNBOUND_BYTES = (128 * MIB, 16 * MIB, 16 * MIB)


def plan(board: Board, facts: ModelFacts, context: int = DEFAULT_CONTEXT, batch: int = DEFAULT_BATCH) -> Plan:
    """Memory of `board` for a model, `context` visible tokens and prefill batches of `batch` tokens, or of half as many
    and so on, down to BATCH_FLOOR, where memory is short.

    Raises UserError for values outside their limits, DoesNotFit with what is missing and what would fit.
    """
    check_context(context, batch, facts)
    image, free = _free_memory(board)
    for size in _batches(batch):
        used = _used(board, facts, context, size)
        bases = _place(_sizes(used), free)
        if bases is not None:
            return _assemble(
                board, facts, context=context, batch=size, image=image, used=used, sizes=_sizes(used), bases=bases
            )
    raise _does_not_fit(board, facts, context, size)


def plan_unbound(board: Board, context: int = DEFAULT_CONTEXT, batch: int = DEFAULT_BATCH) -> Plan:
    """A plan for no particular model, with pools of fixed size: kernel tests, or a first look at a board.

    Raises UserError for values outside their limits, DoesNotFit.
    """
    check_context(context, batch)
    image, free = _free_memory(board)
    bases = _place(_UNBOUND_BYTES, free)
    if bases is None:
        raise DoesNotFit(f"{board.name} has no room for pools of {_list_sizes(_UNBOUND_BYTES)}")
    return _assemble(
        board, None, context=context, batch=batch, image=image, used=(0, 0, 0), sizes=_UNBOUND_BYTES, bases=bases
    )


def longest_context(board: Board, facts: ModelFacts, batch: int = DEFAULT_BATCH) -> int:
    """The longest context that `board` holds of a model, at most what it was trained for; 0 if it holds none.

    With batches of `batch` tokens, or as small as plan() would make them.
    """
    batch = min(batch, BATCH_FLOOR)
    _, free = _free_memory(board)
    fits = 0
    low, high = CONTEXT_MIN, min(CONTEXT_MAX, facts.context_train)
    while low <= high:
        middle = (low + high) // 2
        if _place(_sizes(_used(board, facts, middle, batch)), free) is None:
            high = middle - 1
        else:
            fits, low = middle, middle + 1
    return fits


def check_context(context: int, batch: int, facts: ModelFacts | None = None) -> None:
    """Raises UserError for a context or a batch outside its limits, before anything is computed from it."""
    if not 1 <= batch <= BATCH_MAX:
        raise UserError(f"a batch of {batch} tokens is not possible", hint=f"choose 1 to {BATCH_MAX}")
    trained = facts.context_train if facts else CONTEXT_MAX
    limit = min(CONTEXT_MAX, trained)
    if not CONTEXT_MIN <= context <= limit:
        why = f"; the model was trained for {trained}" if context > trained else ""
        raise UserError(
            f"a context of {context} tokens is not possible{why}",
            hint=f"choose {CONTEXT_MIN} to {limit}; a longer conversation keeps its first tokens and its latest",
        )


def _batches(most: int) -> Iterator[int]:
    """Sizes to try, the largest first."""
    yield most
    while most > BATCH_FLOOR:
        most = max(most // 2, BATCH_FLOOR)
        yield most


def _used(board: Board, facts: ModelFacts, context: int, batch: int) -> tuple[int, int, int]:
    return (
        facts.image_bytes,
        activation_bytes(facts, batch, board.cpu.cores),
        kv_cache_bytes(facts, context, batch),
    )


def _sizes(used: Sequence[int]) -> tuple[int, ...]:
    return tuple(align_up(size, BLOCK_BYTES) for size in used)


def _free_memory(board: Board) -> tuple[MemoryRange, tuple[MemoryRange, ...]]:
    """Where the image goes, and the whole blocks that are left for pools."""
    memory = board.memory
    usable = aligned(memory.usable, BLOCK_BYTES)
    for part in usable:
        if part.size_bytes >= memory.image_bytes:
            image = MemoryRange(part.base, memory.image_bytes, "image")
            return image, subtract(usable, (image,))
    raise DoesNotFit(
        f"{board.name} has no free range of {show_bytes(memory.image_bytes)} for the firmware image",
        hint=f"free: {', '.join(map(str, usable)) or 'nothing'}",
    )


def _place(sizes: Sequence[int], free: Sequence[MemoryRange]) -> tuple[int, ...] | None:
    """Base addresses that hold `sizes` without overlap, each as low as the rest allows, in order of the pools.

    The search is exhaustive, so that pools which fit in some arrangement are never refused.
    """
    if not sizes:
        return ()
    for index, part in enumerate(free):
        if part.size_bytes < sizes[0]:
            continue
        rest = MemoryRange(part.base + sizes[0], part.size_bytes - sizes[0])
        others = _place(sizes[1:], (*free[:index], rest, *free[index + 1 :]))
        if others is not None:
            return part.base, *others
    return None


def _assemble(
    board: Board,
    facts: ModelFacts | None,
    *,
    context: int,
    batch: int,
    image: MemoryRange,
    used: Sequence[int],
    sizes: Sequence[int],
    bases: Sequence[int],
) -> Plan:
    pools = [PoolPlan(*fields) for fields in zip(_POOLS, bases, sizes, used, strict=True)]
    return Plan(
        board=board.name,
        facts=facts,
        context=context,
        batch=batch,
        image=image,
        weight=pools[0],
        activation=pools[1],
        kv_cache=pools[2],
        free=subtract(board.memory.usable, (image, *(pool.range for pool in pools))),
        longest_context=longest_context(board, facts, batch) if facts else None,
        npu=_npu_pool(board, facts, context, batch),
    )


def _npu_pool(board: Board, facts: ModelFacts | None, context: int, batch: int) -> PoolPlan | None:
    memory = board.npu_memory
    if memory is None:
        return None
    needed = npu_bytes(facts, context, batch, board.cpu.cores) if facts else 0
    return PoolPlan("NPU", memory.base, memory.size_bytes, needed if needed <= memory.size_bytes else 0)


def _list_sizes(sizes: Sequence[int]) -> str:
    return ", ".join(f"{name} {show_bytes(size)}" for name, size in zip(_POOLS, sizes, strict=True))


def _does_not_fit(board: Board, facts: ModelFacts, context: int, batch: int) -> DoesNotFit:
    sizes = _sizes(_used(board, facts, context, batch))
    _, free = _free_memory(board)
    pieces = [part.size_bytes for part in free] or [0]
    missing = max(sum(sizes) - sum(pieces), max(sizes) - max(pieces))
    amount = f"{show_bytes(missing)} too much" if missing > 0 else "each pool has to lie in one piece"
    what = (
        f"{facts.family} model with context {context} does not fit {board.name}: it takes {show_bytes(sum(sizes))}"
        f" ({_list_sizes(sizes)}), free are {' + '.join(map(show_bytes, pieces))}: {amount}"
    )
    shorter = longest_context(board, facts, batch)
    ways = [f"--context {shorter} would fit"] if shorter else []
    others = [name for name in list_boards() if name != board.name and _fits(name, facts, context, batch)]
    ways += [f"with context {context} it fits {' or '.join(others)}"] if others else []
    return DoesNotFit(what, hint="; ".join(ways) or "no shipped board holds it: a smaller model is needed")


def _fits(name: str, facts: ModelFacts, context: int, batch: int) -> bool:
    board = load_board(name)
    _, free = _free_memory(board)
    return _place(_sizes(_used(board, facts, context, batch)), free) is not None
