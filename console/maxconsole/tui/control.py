# SPDX-License-Identifier: Apache-2.0
"""What the console is doing, without any screen: jobs do what takes time, screens look ten times a second.

Methods belong to the screen's thread. What a job's thread changes is replaced as a whole, and nothing is sent: an
answer's text waits in a deque until the screen takes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from maxconsole.errors import BoardError, UserError
from maxconsole.tui.chat import Chat, Turn
from maxconsole.tui.drawing.units import grouped, lasted, token_rate
from maxconsole.tui.job import Job, Outcome
from maxconsole.tui.seam import Choice, End, Generating, ModelCard, Piece, Player, Question, Reply, Session, Workbench
from maxconsole.tui.state import State

if TYPE_CHECKING:
    from maxconsole.telemetry.snapshot import Snapshot

#: What opening a board goes through; weights and firmware that are in the cache take no time.
_STAGES: Final = ("pack", "build", "flash", "boot")
_STAGES_TO_ATTACH: Final = ("pack", "build", "attach")
#: Ends of an answer that are not the model's own, in words.
_REASONS: Final = {"limit": "cut at the longest answer (F4)", "cancelled": "stopped"}
#: How long leaving may wait for a job that is told to stop, before its board is taken away from it.
_PATIENCE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the user should know: what happened, and what to do next."""

    what: str
    hint: str = ""


@dataclass(slots=True)
class _Stream:
    """An answer on its way from its job to the screen."""

    turn: Turn
    pieces: deque[str] = field(default_factory=deque)
    prefill: tuple[int, int] = (0, 0)  # prompt tokens done, and in all

    def progress(self, stage: str, done: int, total: int, detail: str = "", /) -> None:
        """Takes note of how far the prompt is."""
        del stage, detail
        self.prefill = (done, total)


class Control:
    """Owns the session. What a method starts is seen in `state`, `starting` and the chat, after the next `tick`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        self.choice: Choice = workbench.default
        self.generating = Generating()
        self.chat = Chat()
        self.starting: Job | None = None  # the job that opens a board; kept to be looked at after it has ended
        self.session: Session | None = None
        self._model_name = ""
        self._releasing: Job | None = None
        self._answering: Job | None = None
        self._errand: Job | None = None  # a short piece of work for a board that is not asked anything
        self._stream: _Stream | None = None
        self._stopping = False
        self._failed = False
        self._told_board = self.choice  # whose counters and route it was told
        self._overheard: Turn | None = None  # the answer that grows in a replay
        self._told: deque[Notice] = deque()

    @property
    def state(self) -> State:
        """What the console is doing with its board."""
        if self.starting is not None and not self.starting.view().outcome.over:
            return State.STARTING
        if self.session is None:
            return State.FAILED if self._failed else State.NONE
        if self._stream is not None:
            return State.STOPPING if self._stopping else State.ANSWERING
        player = self.session.player
        return State.PAUSED if player is not None and player.playback().paused else State.READY

    @property
    def answering(self) -> bool:
        return self._stream is not None

    @property
    def board_name(self) -> str:
        """The chosen board, for people."""
        return self.choice.board or "the default board"

    @property
    def model_name(self) -> str:
        """The chosen model, for people."""
        return self._model_name or (Path(self.choice.model).stem if self.choice.model else "the demo model")

    @property
    def player(self) -> Player | None:
        """The controls where a recording is shown."""
        return None if self.session is None else self.session.player

    def choose_model(self, card: ModelCard) -> None:
        """Takes note of it for the next start."""
        self.choice = replace(self.choice, model=card.path)
        self._model_name = card.name

    @property
    def recording(self) -> str:
        """The file that is being written; "" while none is."""
        if self.session is not None:
            try:
                return self.session.recording
            except UserError as error:  # the recording has ended; the board goes on
                self.tell(error)
        return ""

    def record(self) -> None:
        """Begins a recording."""
        if self.session is not None:
            try:
                self.session.record()
            except UserError as error:
                self.tell(error)

    def end_recording(self) -> str:
        """Ends it and says where it is."""
        path = self.recording
        if self.session is not None and path:
            try:
                self.session.end_recording()
            except UserError as error:
                self.tell(error)
                return ""
        return path

    @property
    def memory_limit(self) -> int | None:
        """Bytes per second that the board's memory gives at best, where that is known."""
        return None if self.session is None else self.session.identity.memory_bytes_per_s

    @property
    def prefill(self) -> tuple[int, int] | None:
        """Prompt tokens done and in all, until the answer's first word."""
        if self._stream is None or self._stream.turn.text:
            return None
        return self._stream.prefill

    def adopt(self, session: Session) -> None:
        """Shows a recording."""
        self.release()
        self.chat.clear()
        self.session = session

    def seek(self, seconds: float) -> None:
        """Moves a replay to a moment of its recording."""
        player = self.player
        if player is not None:
            if seconds < player.playback().at:  # all of it is said again
                self.chat.clear()
                self._overheard = None
            self._guarded(lambda: player.move(seconds))

    def start(self, choice: Choice) -> None:
        """Releases the board at hand and brings up the one of `choice`."""
        if self.state is State.STARTING or self.answering:
            return
        self.choice, self._failed, self._told_board = choice, False, choice
        self.release()
        self.chat.clear()
        releasing = self._releasing

        def work(job: Job) -> None:
            if releasing is not None:
                releasing.join()
            self.session = self.workbench.open(choice, job.progress)

        stages = _STAGES if choice.port is None else _STAGES_TO_ATTACH
        self.starting = Job(f"{self.model_name} on {self.board_name}", work, expected=stages)

    def release(self) -> None:
        """Lets go of the board."""
        session, self.session = self.session, None
        if session is not None:
            self.starting = None

            def work(_job: Job) -> None:
                with suppress(UserError):  # it is given up: what it says to that helps nobody
                    session.close()

            self._releasing = Job("release", work)

    def ask(self, question: str) -> None:
        """Sends a question; its answer grows in `chat` with every `tick`."""
        session = self.session
        if session is None or self.answering:
            return
        stream = _Stream(self.chat.ask(question))
        try:
            answer = session.ask(question, self.generating, stream.progress)
        except UserError as error:
            self._lose(error)
            return
        if not self._on_errand():
            self._tell_board()
        self._stream, self._stopping = stream, False

        errand = self._errand

        def work(_job: Job) -> None:
            if errand is not None:
                errand.join()
            for piece in answer:
                stream.pieces.append(piece)

        self._answering = Job("answer", work)

    def stop(self) -> None:
        """Ends the answer; what was said so far stays."""
        if self._stream is not None and self.session is not None:
            self._stopping = True
            self.session.cancel()

    def rewind(self, at: int) -> None:
        """Forgets turn `at` of the chat, a question, and what came after it. A question asked next waits for that."""
        session = self.session
        if session is not None and not self.answering:
            questions = self.chat.cut(at)
            self._errand = Job("rewind", lambda _job: session.keep(questions))

    def verify(self) -> Job | None:
        """Has the board compare its memory with what was flashed."""
        session = self.session
        if session is None or self.answering:
            return None

        def work(job: Job) -> None:
            self._told.append(Notice("the board's memory is what was flashed", session.verify(job.progress)))

        self._errand = Job(f"{session.identity.board}'s memory", work, expected=("verify",))
        return self._errand

    def tick(self) -> None:
        """Takes what the jobs have brought since the last time."""
        if not self.choice.board:
            self.choice = replace(self.choice, board=self.workbench.default.board)
        self._take_text()
        self._overhear()
        session = self.session
        if session is not None and self._stream is None and not self._on_errand():
            self._guarded(session.check)
            self._tell_board()

    def notices(self) -> list[Notice]:
        """What the user has not been told yet."""
        told = list(self._told)
        self._told.clear()
        return told

    def snapshot(self) -> Snapshot | None:
        """What the board has reported; None without one."""
        return None if self.session is None else self.session.snapshot()

    def close(self) -> None:
        """Ends everything and leaves nothing behind. May take a few seconds."""
        if self.starting is not None:
            self.starting.stop()
            self.starting.join()
        if self._answering is not None:
            self.stop()
            self._answering.join(_PATIENCE)
        session, self.session = self.session, None
        if session is not None:
            session.close()
        for job in (self._answering, self._errand, self._releasing):
            if job is not None:
                job.join()

    def tell(self, error: UserError) -> None:
        """Puts an error among the notices."""
        self._told.append(Notice(error.what, error.hint))

    def _overhear(self) -> None:
        """What is said in a replay."""
        player = self.player
        for event in () if player is None else player.heard():
            if isinstance(event, Question):
                self._overheard = self.chat.ask(event.words)
            elif self._overheard is not None and isinstance(event, Piece):
                self._overheard.add(event.text)
            elif self._overheard is not None and isinstance(event, End):
                self._overheard.close(_words(event.reply) if event.reply else event.why)

    def _tell_board(self) -> None:
        """Tells the board, between answers, what was chosen since for its counters and for prompts."""
        session, told, choice = self.session, self._told_board, self.choice
        if session is None or not session.identity.can_ask:
            return
        if choice.counters != told.counters:
            self._told_board = replace(told, counters=choice.counters)
            self._errand = Job("counters", lambda _job: session.count(choice.counters))
        elif choice.route != told.route:
            self._told_board = replace(told, route=choice.route)
            self._errand = Job("route", lambda _job: session.use(choice.route))

    def _on_errand(self) -> bool:
        """Whether an errand still runs; says so where one has failed."""
        if self._errand is None:
            return False
        view = self._errand.view()
        if view.outcome.over:
            self._errand = None
            if isinstance(view.error, UserError) and view.outcome is Outcome.FAILED:
                self._lose(view.error)
        return not view.outcome.over

    def _take_text(self) -> None:
        stream, job = self._stream, self._answering
        if stream is None or job is None:
            return
        over = job.view()
        while stream.pieces:
            stream.turn.add(stream.pieces.popleft())
        if not over.outcome.over or self.session is None:
            return
        self._stream = None
        if over.outcome is Outcome.DONE:
            stream.turn.close(_words(self.session.reply))
            return
        error = over.error if isinstance(over.error, UserError) else None
        stream.turn.close("the answer ended here: the board failed")
        if error is None:
            raise over.error or AssertionError("a job failed without an error")
        self._lose(error)

    def _lose(self, error: UserError) -> None:
        """The board has gone, or cannot do what it was asked: says so, and lets go of one that no longer works."""
        self.chat.say(f"{error.what}\n{error.hint}".strip())
        self.tell(error)
        if isinstance(error, BoardError):
            self._failed = True
            self.release()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except UserError as error:
            self._lose(error)


def _words(reply: Reply) -> str:
    """The small line below an answer."""
    parts = [f"{grouped(reply.tokens)} tokens in {lasted(reply.wall_s)}"]
    if reply.wall_decode_rate is not None:
        parts.append(f"{token_rate(reply.wall_decode_rate)} tok/s here")
    if reply.decode_rate is not None:
        parts.append(f"{token_rate(reply.decode_rate)} tok/s on the board")
    if reply.route:
        parts.append(reply.route)
    if reply.cached_tokens:
        parts.append(f"{grouped(reply.cached_tokens)} of {grouped(reply.prompt_tokens)} prompt tokens were cached")
    if reply.reason != "stop token":
        parts.append(_REASONS.get(reply.reason, reply.reason))
    return ", ".join(parts)
