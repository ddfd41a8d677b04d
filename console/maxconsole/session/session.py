# SPDX-License-Identifier: Apache-2.0
"""One board with its link and its telemetry: open, ask, cancel, close."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from maxconsole.boards import load_board
from maxconsole.errors import BoardError, UserError
from maxconsole.link.client import Link, Pending
from maxconsole.models.pieces import TokenPieces
from maxconsole.recording import Recorder, check_target
from maxconsole.schema import wire
from maxconsole.session import diagnosis
from maxconsole.session.about import About, about, facts_of
from maxconsole.session.attached import AttachedMachine
from maxconsole.session.flash import check_method, flash
from maxconsole.session.generation import Board, Generation, Request
from maxconsole.session.hello import ask_for_hello, check_hello, wait_for_hello
from maxconsole.session.logits import prompt_logits
from maxconsole.session.machine import Badge, Load, Machine
from maxconsole.session.progress import Progress, silent
from maxconsole.session.route import USUAL, Route
from maxconsole.session.sampling import GREEDY, Sampling
from maxconsole.session.setup import Prepared, Setup, prepare
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ATTACH_TIMEOUT = 30.0
_HELLO_TIMEOUT = 30.0
#: Seconds that a board may take to answer which was running before we came.
_ANSWER_TIMEOUT = 5.0
_STANDING_TIMEOUT = 10.0
#: Seconds without a single byte from a board that works on a request, after which it is halted and looked at.
_SILENCE = 60.0
#: Seconds of silence after which it is asked whether it still listens. A request looks for commands as it goes.
_ASK_AFTER = 15.0


#: A stop token that no model has: without any of its own a request ends at the model's.
_NEVER = (2**32 - 1,)


class Session:
    """A board on which a model runs. As a context manager it leaves nothing behind.

    One thread asks; `cancel` and `snapshot` may be called from any other.
    """

    def __init__(self, prepared: Prepared, machine: Machine, progress: Progress = silent) -> None:
        """Takes over a board that was just flashed, or attached to.

        Raises BoardError when it does not say the right HELLO, UserError for a recording that cannot be made, and what
        `progress` raises, which is called while the board is waited for.
        """
        self.prepared = prepared
        self.facts = facts_of(prepared, machine.badge)
        self._machine = machine
        self._telemetry = Telemetry()
        self._symbols = diagnosis.Symbols(prepared.firmware.elf)
        self._cancel = threading.Event()
        self._requests = 0
        self._cached: tuple[int, ...] = ()  # tokens that the board holds keys and values of
        self._quiet = _Quiet()
        # What the board was told; not known of one that somebody else has started.
        self._route = None if isinstance(machine, AttachedMachine) else USUAL
        self._standing: list[Pending] = []  # questions of a recording that has begun since the last request
        self._recorder: Recorder | None = None
        if prepared.setup.record is not None:
            self._recorder = self._recorder_for(prepared.setup.record, overwrite=prepared.setup.overwrite)
        self._link = Link(machine.transport(_ATTACH_TIMEOUT), self._telemetry, observer=self._recorder)
        try:
            self.hello = self._first_words(progress)
            check_hello(self.hello, prepared, self._telemetry)
            self._link.request(wire.Query(item=wire.QueryItem.STATUS))  # drops are counted from here on
            if prepared.setup.cores is not None:
                self.use_cores(prepared.setup.cores, prepared.setup.decode_cores)
            self.use(prepared.setup.route)
        except BaseException:
            self._link.close()
            raise

    @classmethod
    def open(cls, setup: Setup, progress: Progress = silent) -> Self:
        """Plans, packs, builds, flashes and waits for the board.

        Raises UserError and its kinds: see prepare, flash, and BoardError for a board that does not come up.
        """
        if setup.port is not None:
            return cls.attach(setup, setup.port, progress)
        check_method(load_board(setup.board))
        if setup.record is not None:
            check_target(setup.record, force=setup.overwrite)
        return cls.start(prepare(setup, progress), progress)

    @classmethod
    def start(cls, prepared: Prepared, progress: Progress = silent) -> Self:
        """Flashes what is prepared and waits for the board. Raises UserError, ToolMissing, BoardError."""
        weights = (prepared.plan.weight.base, prepared.image.data)
        load = Load(prepared.board, prepared.firmware.elf, (weights,), prepared.setup.timing)
        machine = flash(load, progress)
        try:
            progress("boot", 0, 0)
            session = cls(prepared, machine, progress)
            progress("boot", 1, 1)
        except BaseException:
            machine.close()
            raise
        return session

    @classmethod
    def attach(cls, setup: Setup, port: str, progress: Progress = silent) -> Self:
        """Takes over the board behind a serial port, which has to run what `setup` builds.

        Raises UserError for a port that does not open, BoardError for a board that does not answer or runs something
        else, and what prepare raises.
        """
        machine = AttachedMachine(load_board(setup.board), port, setup.baud)
        try:
            prepared = prepare(setup, progress)
            progress("attach", 0, 0)
            session = cls(prepared, machine, progress)
            progress("attach", 1, 1)
        except BaseException:
            machine.close()
            raise
        return session

    @property
    def badge(self) -> Badge:
        """Where the board's figures come from."""
        return self._machine.badge

    @property
    def about(self) -> About:
        """What runs where."""
        return about(self.hello, self.facts)

    @property
    def recorder(self) -> Recorder | None:
        """What is being recorded to."""
        return self._recorder

    @property
    def link(self) -> Link:
        """For commands of one's own, while no request runs."""
        return self._link

    def snapshot(self) -> Snapshot:
        """Everything that the board has reported."""
        return self._telemetry.snapshot()

    def ask(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        max_new: int,
        progress: Progress = silent,
        *,
        stops: bool = True,
        words: str = "",
    ) -> Generation:
        """Lets the model continue `prompt`, the whole of it: what the board has cached of it is not sent again.

        Iterating over the result runs the request. Without `stops` only `max_new` ends it. `words` are what the user
        said, for a recording. Raises UserError for a prompt that the board cannot take.
        """
        if not prompt:
            raise UserError("the prompt is empty")
        if max_new < 1:
            raise UserError(f"cannot generate {max_new} tokens", hint="ask for one at least")
        keep = self._reusable(prompt)
        if len(prompt) - keep > self.hello.prompt_max:
            raise UserError(f"the prompt has {len(prompt)} tokens; the firmware takes {self.hello.prompt_max} at once")
        request = Request(
            number=self._next_request(),
            prompt=tuple(prompt[keep:]),
            keep=keep,
            max_new=max_new,
            sampling=sampling.seeded(),
            stop=self._stop_tokens() if stops else _NEVER,
        )
        self._settle()
        if self._recorder is not None and words:
            self._recorder.asked(words)
        return Generation(self._board(prompt), request, self._cancel, progress)

    def logits(self, prompt: Sequence[int]) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
        """(position, logits[vocabulary]) after each token of `prompt`, which starts a new context.

        Raises RefusedError, BoardError.
        """
        request = Request(
            number=self._next_request(),
            prompt=tuple(prompt),
            keep=0,
            max_new=0,
            sampling=GREEDY,
            flags=wire.GenerateFlag.LOGITS,
        )
        self._cached = ()
        return prompt_logits(self._board(prompt), self._machine.memory, request)

    def check(self) -> None:
        """Raises BoardError when the board has gone while nobody asked it anything. For the thread that asks."""
        news = self._link.receive(0)
        if isinstance(news, wire.Fault):
            raise diagnosis.fault_error(news, self._symbols)
        if isinstance(news, wire.Hello):
            raise BoardError("the board has restarted", hint="what was said is lost; start or attach anew")
        self._machine.check()

    def cancel(self) -> None:
        """Ends the request that runs, as soon as the board looks for commands; it still gives a result."""
        self._cancel.set()

    def select_events(self, events: Sequence[int]) -> None:
        """Lets the six counters count these PMU events from now on; all totals start anew. While no request runs.

        Raises RefusedError, BoardError.
        """
        if tuple(events) != self.hello.counter_events:
            self._link.request(wire.SelectEvents(events=tuple(events)))
            self._link.request(wire.Query(item=wire.QueryItem.HELLO))
            self.hello = self.snapshot().hello or self.hello

    def use_cores(self, prefill: int, decode: int | None = None) -> None:
        """How many cores work from now on; `decode` None: as many. Raises UserError where there are not as many."""
        for setting, count in ((wire.Setting.PREFILL_CORES, prefill), (wire.Setting.DECODE_CORES, decode or prefill)):
            if not 1 <= count <= self.hello.cores:
                raise UserError(f"cannot use {count} cores", hint=f"{self.hello.cores} run on this board")
            self._link.request(wire.Set(setting=setting, value=count))

    def use(self, route: Route) -> None:
        """How prompts and answers are computed from now on. Raises UserError where the board or its firmware cannot."""
        known = {} if self._route is None else dict(_settings(self._route))
        self._route = None
        for setting, value in _settings(route):
            if known.get(setting) != value:
                try:
                    self._link.request(wire.Set(setting=setting, value=value))
                except BoardError as error:
                    raise UserError(f"{self.hello.board}: {error.what}", hint=error.hint) from error
        self._route = route

    def reset(self) -> None:
        """Forgets the cached tokens, here and on the board."""
        self._cached = ()
        self._link.request(wire.MessageType.RESET_KV)

    def record(self, path: Path, *, overwrite: bool = False) -> Recorder:
        """Records everything from now on, also in the middle of an answer, beginning with how the board stands.

        Raises UserError for a file that cannot be made, and while another recording runs.
        """
        if self._recorder is not None:
            raise UserError(f"{self._recorder.path} is being recorded", hint="end that recording first")
        self._recorder = self._link.observer = self._recorder_for(path, overwrite=overwrite)
        self._standing = [self._link.send(wire.Query(item=item)) for item in wire.QueryItem]
        return self._recorder

    def end_recording(self) -> None:
        """The file is complete afterwards. Harmless without one; raises UserError when the disk did not take it all."""
        recorder, self._recorder = self._recorder, None
        self._link.observer = None
        if recorder is not None:
            recorder.close()

    def close(self) -> None:
        """Ends the link, the board and a recording, and removes everything of theirs. Closing twice is harmless.

        Raises UserError when the disk did not take all of the recording.
        """
        try:
            self._link.close()
        finally:
            try:
                self._machine.close()
            finally:
                self.end_recording()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _first_words(self, progress: Progress) -> wire.Hello:
        machine = self._machine
        if isinstance(machine, AttachedMachine):
            return ask_for_hello(self._link, machine, self._telemetry, progress, timeout=_ANSWER_TIMEOUT)
        return wait_for_hello(self._link, machine, self._telemetry, self._symbols, progress, timeout=_HELLO_TIMEOUT)

    def _settle(self) -> None:
        """A recording has to hold how the board stood before it can hold what came next."""
        for pending in self._standing:
            pending.wait(_STANDING_TIMEOUT)
        self._standing = []

    def _recorder_for(self, path: Path, *, overwrite: bool) -> Recorder:
        vocabulary = TokenPieces.of(self.prepared.model.tokenizer)
        return Recorder(path, replace(self.facts, vocabulary=vocabulary), force=overwrite)

    def _stop_tokens(self) -> tuple[int, ...]:
        return self.prepared.model.tokenizer.vocabulary.special.stop

    def _next_request(self) -> int:
        """The number of the next request; what was true of the one before no longer is."""
        self._requests += 1
        self._cancel.clear()
        self._quiet.restart()
        return self._requests

    def _board(self, prompt: Sequence[int]) -> Board:
        return Board(
            link=self._link,
            telemetry=self._telemetry,
            tokenizer=self.prepared.model.tokenizer,
            hello=self.hello,
            badge=self.badge,
            watch=self._watch,
            fault=lambda fault: diagnosis.fault_error(fault, self._symbols),
            ended=lambda tokens: self._remember(prompt, tokens),
        )

    def _reusable(self, prompt: Sequence[int]) -> int:
        """How many tokens at the start of `prompt` the board still has; at least one is left to compute."""
        same = 0
        for old, new in zip(self._cached, prompt[:-1], strict=False):
            if old != new:
                break
            same += 1
        kv = self.snapshot().kv
        if same < len(self._cached) and kv is not None and kv.length > kv.capacity:
            return 0  # the ring has wrapped: of the tokens before, some are gone
        return same

    def _remember(self, prompt: Sequence[int], tokens: Sequence[int]) -> None:
        """Notes what the board has cached. It has not computed the last token that it chose."""
        kv = self.snapshot().kv
        self._cached = (*prompt, *tokens)[: kv.length] if kv is not None else ()

    def _watch(self, waited_for: str) -> None:
        """Raises BoardError when the board has died, or has been silent for too long."""
        self._machine.check()
        silent_for = self._quiet.seconds(self._link.counters.bytes)
        if silent_for > _SILENCE:
            raise diagnosis.silence_error(self._machine, self._symbols, _SILENCE, waited_for)
        if silent_for > self._quiet.next_question:
            self._quiet.next_question += _ASK_AFTER
            self._link.send(wire.Ping(nonce=0))


class _Quiet:
    """Measures how long nothing has come."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Silence begins now."""
        self._bytes = -1
        self._since = time.monotonic()
        self.next_question = _ASK_AFTER

    def seconds(self, received: int) -> float:
        """Since when the count of received bytes has stood still."""
        if received != self._bytes:
            self.restart()
            self._bytes = received
        return time.monotonic() - self._since


def _settings(route: Route) -> Iterator[tuple[wire.Setting, int]]:
    """What a board is told of it."""
    yield wire.Setting.INT8_TOKENS, route.int8_tokens
    yield wire.Setting.NPU, wire.NpuMode[route.npu.upper()]
    yield wire.Setting.NPU_F16, int(route.npu_f16)
    yield wire.Setting.ATTENTION, wire.AttentionForm[route.attention.upper().replace("-", "_")]
