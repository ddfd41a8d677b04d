# SPDX-License-Identifier: Apache-2.0
"""The real boards and models behind the screens. Importing this costs numpy and more: screens come first."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from maxconsole import paths
from maxconsole.boards import DEFAULT_BOARD, Board, ProfileError, list_boards, load_board, plan
from maxconsole.boards.planner import check_context
from maxconsole.boards.ranges import show_bytes
from maxconsole.errors import DoesNotFit, UserError
from maxconsole.link.text import printable
from maxconsole.models import demo
from maxconsole.models.model import Model
from maxconsole.recording import Recording as RecordingFile
from maxconsole.session.about import badge_of
from maxconsole.session.replay import ReplaySession, find_recording, list_recordings
from maxconsole.session.session import Session as BoardSession
from maxconsole.session.setup import Setup
from maxconsole.tui.badges import badge_words
from maxconsole.tui.claim import Claim, holder
from maxconsole.tui.live import LiveSession, sampling_of
from maxconsole.tui.presets import events_for
from maxconsole.tui.replaying import ReplayedSession
from maxconsole.tui.seam import (
    BoardCard,
    Choice,
    Generating,
    KernelCode,
    ModelCard,
    Progress,
    RecordingCard,
    Session,
)

#: Folders whose GGUF files are offered, the cache's own apart.
_FOLDERS_VARIABLE: Final = "MAXCONSOLE_MODELS"


class RealWorkbench:
    """Boards of the profiles, models of the cache, of the current folder and of `MAXCONSOLE_MODELS` (a path list)."""

    def __init__(self, default: Choice) -> None:
        self.default = default if default.board else replace(default, board=DEFAULT_BOARD)

    def boards(self) -> Sequence[BoardCard]:
        """The shipped boards, and the chosen one where it is a profile of the user's own."""
        names = list(list_boards())
        if self.default.board not in names:
            names.insert(0, self.default.board)
        return [_board_card(name) for name in names]

    def models(self, choice: Choice) -> Sequence[ModelCard]:
        """Cards of all files that are usable at all; others would only be noise here."""
        board = self._board(choice)
        cards = []
        for path in _model_files(choice.model):
            try:
                cards.append(_model_card(path, board, choice))
            except UserError:
                continue
        if not demo.demo_path().is_file():
            cards.append(_absent_demo())
        return cards

    def model(self, path: str, choice: Choice) -> ModelCard:
        """Raises UserError for what is no usable model."""
        return _model_card(Path(path).expanduser(), self._board(choice), choice)

    def check(self, choice: Choice, generating: Generating) -> None:
        """Raises UserError for settings that are not possible."""
        sampling_of(generating)
        if generating.max_new < 1:
            raise UserError("an answer has one token at least", hint="give the longest answer in tokens")
        check_context(choice.context, choice.batch)
        board = self._board(choice)
        events_for(choice.counters, board)
        if choice.route.int8_tokens < 0:
            raise UserError("a prompt has no fewer than 0 tokens", hint="0: no prompt is computed by int8 weights")
        if choice.route.npu != "off" and board.npu is None:
            raise UserError(f"{board.name} has no NPU", hint="leave it off, or choose another board with F2")
        if choice.cores is not None and not 1 <= choice.cores <= board.cpu.cores:
            raise UserError(f"{choice.cores} cores cannot work", hint=f"{board.name} has {board.cpu.cores}")

    def open(self, choice: Choice, progress: Progress) -> Session:
        """Raises UserError and its kinds, also for a board that another console holds."""
        board = choice.board or self.default.board
        claim = Claim(choice.port or board)
        try:
            if choice.model is None and not demo.demo_path().is_file():
                demo.fetch_demo(lambda words: progress("fetch", 0, 0, words))
            setup = Setup(
                board,
                choice.model,
                choice.context,
                choice.batch,
                cores=choice.cores,
                timing=choice.timing,
                port=choice.port,
                baud=choice.baud,
                route=choice.route,
            )
            session = LiveSession(BoardSession.open(setup, progress), claim)
        except BaseException:
            claim.release()
            raise
        try:
            session.count(choice.counters)
        except BaseException:
            session.close()
            raise
        return session

    def _board(self, choice: Choice) -> Board:
        return load_board(choice.board or self.default.board)

    def kernels(self, choice: Choice, firmware: str) -> Sequence[KernelCode]:
        """Raises UserError and its kinds where there is no compiler, or an image that cannot be read."""
        from maxconsole.tui.machine_code import kernels_of  # noqa: PLC0415  not needed before somebody looks

        return kernels_of(self._board(choice), Path(firmware) if firmware else None)

    def recordings(self) -> Sequence[RecordingCard]:
        """The shipped ones, then those of the current folder; files that are no recordings are passed over."""
        found = [find_recording(name) for name in list_recordings()] + sorted(Path.cwd().glob("*.mcap"))
        cards = []
        for path in dict.fromkeys(one.resolve() for one in found):
            with contextlib.suppress(UserError):
                cards.append(_recording_card(path))
        return cards

    def replay(self, path: str) -> Session:
        """Raises UserError for what is no recording."""
        return ReplayedSession(ReplaySession.open(path))


def _recording_card(path: Path) -> RecordingCard:
    with RecordingFile.open(path) as recording:
        facts, loss = recording.facts, recording.loss
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.started_ns / 1e9))
        return RecordingCard(
            path=str(path),
            name=printable(path.stem),
            board=printable(facts.board),
            model=printable(str(facts.model.get("name", ""))),
            seconds=recording.duration_ns / 1e9,
            badge=badge_words(badge_of(facts)),
            details=(
                ("file", printable(str(path))),
                ("recorded", f"{when}, by maxconsole {printable(facts.console)}, over {printable(facts.link)}"),
                ("firmware", printable(facts.build_id[:12])),
                ("missing", str(loss)),
            ),
        )


def _board_card(name: str) -> BoardCard:
    try:
        board = load_board(name)
    except UserError as error:
        return BoardCard(name, name, "unknown", 0, None, 0, str(error))
    held = holder(name)
    obstacle = _obstacle(board) or (f"in use by {held}" if held else "")
    return BoardCard(
        name=name,
        title=board.title,
        kind="virtual" if board.virtual else "hardware",
        cores=board.cpu.cores,
        clock_hz=board.cpu.clock_hz,
        ram_bytes=sum(part.size_bytes for part in board.memory.ram),
        obstacle=obstacle,
        details=_board_details(board),
    )


def _obstacle(board: Board) -> str:
    """What the profile leaves open and starting would need; "" where it has all."""
    try:
        for key, value in (("cpu.clock_hz", board.cpu.clock_hz), ("boot.entry_level", board.boot.entry_level)):
            board.need(key, value)
    except ProfileError as error:
        return str(error)
    return ""


def _board_details(board: Board) -> tuple[tuple[str, str], ...]:
    clock, dram = board.origin("cpu.clock_hz"), board.origin("dram.effective_bytes_per_s")
    effective = board.dram.effective_bytes_per_s
    rate = f"{effective / 1e9:.1f} GB/s at best for one core ({dram.status})" if effective else "effective rate unknown"
    levels = [(name, cache) for name, cache in (("L1D", board.caches.l1d), ("L2", board.caches.l2)) if cache]
    caches = [f"{name} {show_bytes(cache.size_bytes)}" for name, cache in levels]
    caches.append(f"L3 {show_bytes(board.caches.l3.size_bytes)}" if board.caches.l3 else "no L3")
    carved = ", ".join(map(str, board.memory.carve_outs)) or "none"
    return (
        ("summary", board.summary),
        ("core", f"{board.cpu.model}, clock {clock.status}: {clock.source}"),
        ("caches", ", ".join(caches)),
        ("memory", f"{board.dram.kind}, peak {board.dram.peak_bytes_per_s / 1e9:.1f} GB/s, {rate}"),
        ("carve-outs", carved),
        ("figures", "MODELLED: cycles come from a timing model" if board.modelled else "MEASURED on the core itself"),
        ("link", f"{board.link.transport}, flashed by {board.flash.method}"),
        ("profile", str(board.file)),
    )


def _model_files(chosen: str | None) -> list[Path]:
    """GGUF files at hand, each once, the chosen one first, then the cache's."""
    folders = [paths.cache_dir("models"), Path.cwd()]
    folders += [Path(one).expanduser() for one in os.environ.get(_FOLDERS_VARIABLE, "").split(os.pathsep) if one]
    found = [Path(chosen).expanduser()] if chosen else []
    for folder in folders:
        if folder.is_dir():
            found += sorted(folder.glob("*.gguf"))
    return list(dict.fromkeys(path.resolve() for path in found))


def _model_card(path: Path, board: Board, choice: Choice) -> ModelCard:
    model = Model.open(path)
    shapes, facts = model.layout.shapes, model.facts
    matrices = [tensor.info for tensor in model.layout.tensors if len(tensor.info.shape) > 1]
    formats = Counter(info.type.name.lower() for info in matrices)
    size, name = path.stat().st_size, printable(path.stem)
    details: tuple[tuple[str, str], ...] = (
        ("file", printable(str(path))),
        ("calls itself", printable(shapes.name)),
        ("shape", f"{facts.family}, {facts.layers} layers, hidden {facts.hidden}, ffn {facts.ffn}"),
        ("attention", f"{facts.heads} heads of {facts.head_dim}, {facts.kv_heads} key-value heads"),
        ("vocabulary", f"{facts.vocabulary} tokens, trained for a context of {facts.context_train}"),
        ("matrices", ", ".join(f"{count} {name}" for name, count in formats.most_common())),
    )
    common = " ".join(name for name, _ in formats.most_common(2))
    # The demo model keeps its path of None, so that a start fetches it where it has gone.
    key = None if path.resolve() == demo.demo_path().resolve() else str(path)
    try:
        planned = plan(board, facts, choice.context, choice.batch)
    except DoesNotFit as error:
        verdict = f"{error.what.rpartition(': ')[2]}\n{error}"
        return ModelCard(key, name, size, common, False, verdict, details)
    except UserError as error:
        return ModelCard(key, name, size, common, False, str(error), details)
    pools = ", ".join(f"{pool.name} {show_bytes(pool.used_bytes)}" for pool in planned.pools)
    verdict = f"fits, {show_bytes(planned.free_bytes)} free\nthe longest context that fits is {planned.longest_context}"
    details = (("pools", pools), *details)
    return ModelCard(key, name, size, common, True, verdict, details)


def _absent_demo() -> ModelCard:
    verdict = "fetched when started\n98 MB, once, with pip; nothing is installed"
    return ModelCard(None, "SmolLM2-135M-Instruct (demo)", 0, "q4_1 q8_0", True, verdict)
