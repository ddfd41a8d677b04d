# SPDX-License-Identifier: Apache-2.0
"""What the screens ask of the rest of the console. `workbench` answers with real boards; a test may bring its own.

What takes time is not called from the screen's own thread: methods that are may not wait for a board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from maxconsole.session.route import USUAL, Route
from maxconsole.tui.figures.choices import Counters

if TYPE_CHECKING:
    from maxconsole.inspection.text import Row
    from maxconsole.session.machine import Timing
    from maxconsole.telemetry.snapshot import Snapshot


class Progress(Protocol):
    """See maxconsole.session.progress.Progress: what it raises ends the work."""

    def __call__(self, stage: str, done: int, total: int, detail: str = "", /) -> None: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user wants to run. `board` empty is the default one, `model` None the demo model.

    `timing` is a virtual board's. `cores` None leaves to the firmware how many work. `port` is the serial port of a
    board that runs already; `baud` None is its profile's rate. `counters` and `route` may change while the board runs.
    """

    board: str = ""
    model: str | None = None
    context: int = 512  # these two are the planner's own, which would take long to load before the first paint
    batch: int = 512
    timing: Timing = "fast"
    cores: int | None = None
    port: str | None = None
    baud: int | None = None
    counters: Counters = Counters.CACHES
    route: Route = USUAL


@dataclass(frozen=True, slots=True)
class Generating:
    """How answers are made; the fields are those of maxconsole.session.sampling.Sampling. `seed` None draws one."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.9
    repeat_penalty: float = 1.1
    repeat_window: int = 64
    seed: int | None = None
    max_new: int = 512
    system: str = ""  # empty: what the model's template says by itself


@dataclass(frozen=True, slots=True)
class BoardCard:
    """One line of the board picker, and what it says about the board under the cursor."""

    name: str
    title: str
    kind: str  # virtual, hardware
    cores: int
    clock_hz: int | None
    ram_bytes: int
    obstacle: str = ""  # why it cannot be used now, in plain words
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One line of the model picker. `verdict` is the planner's for the chosen board, context and batch."""

    path: str | None  # None: the demo model, which still has to be fetched
    name: str
    file_bytes: int
    formats: str  # of its matrices, the most frequent first
    fits: bool
    verdict: str
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordingCard:
    """One line of the recording picker."""

    path: str
    name: str
    board: str
    model: str
    seconds: float
    badge: str
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelCode:
    """One line of the list of kernels, and the way to its machine code.

    Figures are those of its main loop: `bound` in cycles, `peak` the share of the core's multiply-accumulates that it
    allows. `share` is what the function took of a measured run, None where this image has none; `measured` names it.
    """

    name: str
    kernel: str
    instructions: int
    stack: int
    bound: float | None
    port: str
    peak: float | None
    share: float | None
    measured: str
    text: Callable[[bool, bool], Sequence[Row]]  # only hot loops, with source lines


@dataclass(frozen=True, slots=True)
class Reply:
    """How an answer ended. Rates are tokens per second; the board's count its cycles, the wall's the host's time."""

    reason: str
    tokens: int
    prompt_tokens: int
    cached_tokens: int
    wall_s: float
    prefill_rate: float | None = None
    decode_rate: float | None = None
    wall_decode_rate: float | None = None
    route: str = ""  # how the prompt was computed, where not by the file's own weights on the cores


@dataclass(frozen=True, slots=True)
class Identity:
    """What is at the other end. `memory_bytes_per_s` is the most that its memory gives, where that is known."""

    board: str
    model: str
    carrier: str  # RTT, UART, replay
    badge: str
    can_ask: bool = True
    memory_bytes_per_s: int | None = None
    firmware: str = ""  # path of the image that runs there; empty where it is not at hand


@dataclass(frozen=True, slots=True)
class Playback:
    """Where a recording stands, in seconds of its own time."""

    at: float
    length: float
    speed: float
    paused: bool
    ended: bool = field(default=False)


@dataclass(frozen=True, slots=True)
class Question:
    """Somebody has asked something, in a recording. The words are empty where they were not recorded."""

    words: str


@dataclass(frozen=True, slots=True)
class Piece:
    """The answer to it grows, by text that is safe to print."""

    text: str


@dataclass(frozen=True, slots=True)
class End:
    """The answer has ended, with a Reply where it ended as it should; `why` it did not otherwise."""

    reply: Reply | None
    why: str = ""


Heard: TypeAlias = Question | Piece | End


class Player(Protocol):
    """The controls of a replay, and what is heard in it."""

    def playback(self) -> Playback: ...

    def pause(self, paused: bool, /) -> None: ...

    def set_speed(self, speed: float, /) -> None: ...

    def move(self, seconds: float, /) -> None:
        """Goes to this moment of the recording; going back, everything that was heard before it comes again."""
        ...

    def heard(self) -> Sequence[Heard]:
        """What has been said since the last look."""
        ...


class Session(Protocol):
    """An open board, or a recording of one. Every method may raise UserError."""

    @property
    def identity(self) -> Identity: ...

    @property
    def player(self) -> Player | None:
        """The controls where this is a replay."""
        ...

    def snapshot(self) -> Snapshot:
        """Everything that the board has reported; from any thread."""
        ...

    def check(self) -> None:
        """Raises when the board has gone while nobody asked it anything."""
        ...

    def ask(self, question: str, generating: Generating, progress: Progress) -> Iterator[str]:
        """Adds a question to the conversation and yields its answer, safe to print, as it comes.

        Nothing is done, and nothing waited for, before the first piece is asked for; `cancel` counts from now on.
        """
        ...

    @property
    def reply(self) -> Reply:
        """How the last answer ended."""
        ...

    def cancel(self) -> None:
        """Ends the answer soon; from any thread."""
        ...

    def keep(self, questions: int) -> None:
        """Goes back to the state after the first `questions` questions and their answers."""
        ...

    def count(self, counters: Counters) -> None:
        """Lets the board count other events from now on; all totals start anew. Not during an answer."""
        ...

    def use(self, route: Route) -> None:
        """Computes this way from now on. Not during an answer. Raises UserError where the board cannot."""
        ...

    def verify(self, progress: Progress) -> str:
        """Has the board compare its memory with what was flashed; says what was compared. Raises on a difference."""
        ...

    @property
    def recording(self) -> str:
        """The file that is being written; "" while none is. Raises UserError once, when the disk takes no more."""
        ...

    def record(self) -> str:
        """Begins to write everything that the link carries to a new file, and names it."""
        ...

    def end_recording(self) -> None:
        """The file is complete afterwards. Raises UserError when the disk did not take it all."""
        ...

    def close(self) -> None:
        """Lets go of the board and leaves nothing behind. Closing twice is harmless."""
        ...


class Workbench(Protocol):
    """Boards, models, and the way from a choice to a session."""

    @property
    def default(self) -> Choice:
        """What is chosen at first; its board is empty until the profiles have been read."""
        ...

    def boards(self) -> Sequence[BoardCard]: ...

    def models(self, choice: Choice) -> Sequence[ModelCard]:
        """The models that are at hand, with what the planner says of each on the board of `choice`."""
        ...

    def model(self, path: str, choice: Choice) -> ModelCard:
        """The card of one file. Raises UserError for what is no usable model."""
        ...

    def check(self, choice: Choice, generating: Generating) -> None:
        """Raises UserError for settings that are not possible, with the limits."""
        ...

    def open(self, choice: Choice, progress: Progress) -> Session:
        """Packs, builds, flashes, starts. Raises UserError and its kinds; what `progress` raises goes through."""
        ...

    def kernels(self, choice: Choice, firmware: str) -> Sequence[KernelCode]:
        """The kernels of an image; without one, of what is built for the board of `choice`. Raises UserError."""
        ...

    def recordings(self) -> Sequence[RecordingCard]:
        """Those that ship with the console, and those of the current folder."""
        ...

    def replay(self, path: str) -> Session:
        """Raises UserError for what is no recording."""
        ...
