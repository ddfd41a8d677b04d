# SPDX-License-Identifier: Apache-2.0
"""A workbench for tests of what the screens do: boards that answer at once, fail, or wait for the test's word."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from made_up_code import made_up_kernels
from synthetic import SyntheticBoard

from maxconsole.errors import BoardError, UserError
from maxconsole.session.route import Route
from maxconsole.telemetry.snapshot import Snapshot
from maxconsole.tui.figures.choices import Counters
from maxconsole.tui.seam import (
    BoardCard,
    Choice,
    Generating,
    Identity,
    KernelCode,
    ModelCard,
    Player,
    Progress,
    RecordingCard,
    Reply,
)

_ANSWER = (
    "A key-value cache keeps what attention needs of every earlier token, so that a new token costs one step and not a "
    "pass over the whole conversation.\n\nOnce it is full, the oldest tokens make room; the first four stay."
)
WORDS = _ANSWER.split(" ")


class DeskSession:
    """Answers every question with WORDS. `gate` holds it back before each word while it is cleared."""

    def __init__(self, choice: Choice) -> None:
        self.board = SyntheticBoard(context=choice.context)
        self.choice = choice
        self.gate = threading.Event()
        self.gate.set()
        self.asked: list[str] = []
        self.kept: list[int] = []
        self.closed = 0
        self.counted: list[Counters] = []
        self.routes: list[Route] = []
        self.failure: UserError | None = None  # raised by `check`, and in mid-answer
        self._cancel = threading.Event()
        self._reply: Reply | None = None
        self.player: Player | None = None
        self.recorded_to = ""

    @property
    def identity(self) -> Identity:
        return Identity(self.choice.board, "made-up-135M", "RTT", "MODELLED v1", memory_bytes_per_s=17_000_000_000)

    def snapshot(self) -> Snapshot:
        return self.board.snapshot()

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def ask(self, question: str, generating: Generating, progress: Progress) -> Iterator[str]:
        self._cancel.clear()
        self.asked.append(question)
        said = 0
        for step in self.board.ask(24, len(WORDS)):
            while not self.gate.wait(0.01) and not self._cancel.is_set() and self.failure is None:
                pass
            self.check()
            if self._cancel.is_set():
                break
            if step > 0:
                progress("prefill", step, 24)
            else:
                said += 1
                yield WORDS[said - 1] + " "
        reason = "cancelled" if self._cancel.is_set() else "stop token"
        self._reply = Reply(reason, said, 24, 0, 12.0, 253.0, 49.9, 0.82)

    @property
    def reply(self) -> Reply:
        assert self._reply is not None
        return self._reply

    def cancel(self) -> None:
        self._cancel.set()

    def keep(self, questions: int) -> None:
        self.kept.append(questions)

    def count(self, counters: Counters) -> None:
        self.counted.append(counters)

    def use(self, route: Route) -> None:
        self.routes.append(route)

    def verify(self, progress: Progress) -> str:
        progress("verify", 1, 1)
        return "weights 97 MB"

    @property
    def recording(self) -> str:
        return self.recorded_to

    def record(self) -> str:
        self.recorded_to = "made-up.mcap"
        return self.recorded_to

    def end_recording(self) -> None:
        self.recorded_to = ""

    def close(self) -> None:
        self.closed += 1


@dataclass
class Desk:
    """The workbench. `failure` is raised instead of opening; `gate` holds opening back while it is cleared."""

    default: Choice = field(default_factory=lambda: Choice("synthetic", None, 256, 64))
    failure: Exception | None = None
    gate: threading.Event = field(default_factory=threading.Event)
    sessions: list[DeskSession] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate.set()

    def boards(self) -> Sequence[BoardCard]:
        details = (("summary", "four cores that do not exist"), ("figures", "MODELLED: all of it is made up"))
        return [
            BoardCard("synthetic", "A board of numbers", "virtual", 4, 2_400_000_000, 512 << 20, "", details),
            BoardCard("taken", "A board somebody has", "virtual", 4, 2_400_000_000, 8 << 30, "in use by process 7"),
            BoardCard("unfinished", "A board with gaps", "hardware", 4, None, 512 << 20, "cpu.clock_hz is unknown"),
        ]

    def models(self, choice: Choice) -> Sequence[ModelCard]:
        details = (("pools", "WEIGHT 92.9 MiB, ACTIVATION 1.9 MiB, KV_CACHE 7.5 MiB"),)
        big = "612.4 MiB too much\nof the shipped boards, rpi5-virtual holds it"
        return [
            ModelCard(None, "made-up-135M", 98_362_432, "q4_1 q8_0", True, "fits, 272.0 MiB free", details),
            ModelCard("/m/big.gguf", "made-up-1.5B", 986_048_768, "q4_k q6_k", False, big),
        ]

    def model(self, path: str, choice: Choice) -> ModelCard:
        raise UserError(f"there is no model file {path}", hint="give the path of a GGUF file")

    def check(self, choice: Choice, generating: Generating) -> None:
        if choice.context < 64:
            raise UserError(f"a context of {choice.context} tokens is not possible", hint="choose 64 to 8192")

    def kernels(self, choice: Choice, firmware: str) -> Sequence[KernelCode]:
        if self.failure is not None:
            raise self.failure
        return made_up_kernels()

    def recordings(self) -> Sequence[RecordingCard]:
        return []

    def replay(self, path: str) -> DeskSession:
        raise UserError(f"there is no recording {path}")

    def open(self, choice: Choice, progress: Progress) -> DeskSession:
        progress("pack", 97, 97)
        progress("build", 12, 41, "firmware/kernels/attention.S")
        while not self.gate.wait(0.01):
            progress("build", 12, 41, "firmware/kernels/attention.S")
        if self.failure is not None:
            raise self.failure
        progress("flash", 97, 97)
        self.sessions.append(DeskSession(choice))
        return self.sessions[-1]


GONE = BoardError("the emulator has ended (signal 9)", hint="start the board again")
