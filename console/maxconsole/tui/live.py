# SPDX-License-Identifier: Apache-2.0
"""An open board with the conversation that is held on it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from maxconsole.errors import UserError
from maxconsole.link.client import RefusedError
from maxconsole.link.text import printable
from maxconsole.session.about import memory_limit
from maxconsole.session.results import Answer
from maxconsole.session.route import Route
from maxconsole.session.sampling import Sampling
from maxconsole.session.session import Session as BoardSession
from maxconsole.session.verify import verify
from maxconsole.tui.badges import badge_words
from maxconsole.tui.claim import Claim
from maxconsole.tui.figures.choices import Counters
from maxconsole.tui.presets import events_for
from maxconsole.tui.seam import Generating, Identity, Player, Progress, Reply

if TYPE_CHECKING:
    from maxconsole.models.chat import Conversation
    from maxconsole.telemetry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Exchange:
    question: str
    tokens: tuple[int, ...]


class LiveSession:
    """See maxconsole.tui.seam.Session."""

    def __init__(self, session: BoardSession, claim: Claim) -> None:
        self._session = session
        self._claim = claim
        self._cancelled = threading.Event()
        self._said: list[_Exchange] = []
        self._conversation: Conversation | None = None
        self._system = ""
        self._answer: Answer | None = None
        prepared = session.prepared
        self._identity = Identity(
            board=prepared.board.name,
            model=printable(prepared.model.file.path.stem),
            carrier=prepared.board.link.transport.upper(),
            badge=badge_words(session.badge),
            memory_bytes_per_s=memory_limit(session.facts),
            firmware=str(prepared.firmware.elf),
        )

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def player(self) -> Player | None:
        return None

    def snapshot(self) -> Snapshot:
        return self._session.snapshot()

    def check(self) -> None:
        self._session.check()

    def ask(self, question: str, generating: Generating, progress: Progress) -> Iterator[str]:
        self._cancelled.clear()
        return self._ask(question, generating, progress)

    def _ask(self, question: str, generating: Generating, progress: Progress) -> Iterator[str]:
        conversation = self._talk(generating.system)
        try:
            turn = conversation.ask(question)
            generation = self._session.ask(
                turn.prompt, sampling_of(generating), generating.max_new, progress, words=question
            )
            if self._cancelled.is_set():  # before the session could take note of it
                self._session.cancel()
            yield from generation
        except RefusedError as error:  # the board is well, and did not want this
            raise UserError(error.what, hint=error.hint) from error
        self._answer = generation.answer
        conversation.answered(self._answer.tokens)
        self._said.append(_Exchange(question, self._answer.tokens))

    @property
    def reply(self) -> Reply:
        if self._answer is None:
            raise RuntimeError("nothing has been asked")
        return reply_of(self._answer)

    def cancel(self) -> None:
        self._cancelled.set()
        self._session.cancel()

    def keep(self, questions: int) -> None:
        """Builds the conversation up to there anew; the board keeps what is common, and drops the rest when asked."""
        del self._said[questions:]
        self._conversation = None
        if not self._said:
            self._session.reset()

    def count(self, counters: Counters) -> None:
        try:
            self._session.select_events(events_for(counters, self._session.prepared.board))
        except RefusedError as error:  # the board is well, and cannot count these
            raise UserError(error.what, hint=error.hint) from error

    def use(self, route: Route) -> None:
        self._session.use(route)

    def verify(self, progress: Progress) -> str:
        regions = verify(self._session.link, self._session.prepared, progress)
        return ", ".join(f"{one.name} {one.size_bytes} bytes, CRC {one.crc32:08x}" for one in regions)

    @property
    def recording(self) -> str:
        recorder = self._session.recorder
        if recorder is None:
            return ""
        if recorder.failure is not None:
            with contextlib.suppress(UserError):  # the failure itself, which is raised here
                self._session.end_recording()
            raise recorder.failure
        return str(recorder.path)

    def record(self) -> str:
        name = time.strftime(f"{self._identity.board}-%Y%m%d-%H%M%S.mcap")
        return str(self._session.record(Path.cwd() / name).path)

    def end_recording(self) -> None:
        self._session.end_recording()

    def close(self) -> None:
        try:
            self._session.close()
        finally:
            self._claim.release()

    def _talk(self, system: str) -> Conversation:
        """The conversation so far; another system prompt begins it anew with the same exchanges."""
        if self._conversation is None or system != self._system:
            conversation = self._session.prepared.model.conversation(system or None)
            for one in self._said:
                conversation.ask(one.question)
                conversation.answered(one.tokens)
            self._conversation, self._system = conversation, system
        return self._conversation


def reply_of(answer: Answer) -> Reply:
    """What the small line below an answer says."""
    counted = answer.badge.counts
    return Reply(
        reason=answer.reason,
        tokens=len(answer.tokens),
        prompt_tokens=answer.prompt_tokens,
        cached_tokens=answer.cached_tokens,
        wall_s=answer.wall.total,
        prefill_rate=answer.prefill_rate if counted else None,
        decode_rate=answer.decode_rate if counted else None,
        wall_decode_rate=answer.wall_decode_rate,
        route=answer.route,
    )


def sampling_of(generating: Generating) -> Sampling:
    """Raises UserError for values that the firmware would refuse."""
    return Sampling(
        temperature=generating.temperature,
        top_k=generating.top_k,
        top_p=generating.top_p,
        repeat_penalty=generating.repeat_penalty,
        repeat_window=generating.repeat_window,
        seed=generating.seed,
    )
