# SPDX-License-Identifier: Apache-2.0
"""Reads requests and answers off a link that somebody else has worked: how a recording is turned into Answers again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from maxconsole.link.client import RefusedError
from maxconsole.link.frames import Counters, Decoder, Frame
from maxconsole.link.messages import News
from maxconsole.link.text import printable
from maxconsole.models.tokenizer import Detokenizer, TokenTexts
from maxconsole.recording import Channel, Facts, Transfer
from maxconsole.schema import wire
from maxconsole.session import diagnosis
from maxconsole.session.about import badge_of
from maxconsole.session.results import Answer
from maxconsole.session.transcript import Transcript
from maxconsole.telemetry.fold import Telemetry
from maxconsole.telemetry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Asked:
    """A request begins. `words` are the user's, safe to print, and empty where nobody has noted them."""

    words: str
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the answer, safe to print."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A request has ended as it should."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """A request has ended in another way; `text` and `tokens` are what there was of its answer."""

    why: str
    text: str
    tokens: tuple[int, ...]


Event: TypeAlias = Asked | Said | Answered | BrokenOff


class Follower:
    """The Sink of a link over a recording, which also overhears what was sent to the board.

    Telemetry comes first, so that a Snapshot taken at an event has everything that led to it. `tell` is called with
    every event, on the reader thread; `clock` gives the time of what is being read.
    """

    def __init__(
        self, facts: Facts, telemetry: Telemetry, clock: Callable[[], int], tell: Callable[[Event], None]
    ) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._tell = tell
        self._badge = badge_of(facts)
        self._texts: TokenTexts = facts.vocabulary or _Numbers()
        self._commands = Decoder()
        self._words = ""
        self._before: Snapshot | None = None
        self._transcript: Transcript | None = None
        self._generate_seq = -1
        self._status_seq = -1

    def overhear(self, transfer: Transfer) -> None:
        """Takes note of what went to the board, and of what the user had said."""
        if transfer.channel is Channel.ASKED:
            self._words = printable(transfer.data, keep="\n\t")
        elif transfer.channel is Channel.TO_BOARD:
            for item in self._commands.feed(transfer.data):
                if isinstance(item, Frame):
                    self._command(item, transfer.time_ns)

    def accept(self, news: Sequence[News], counters: Counters, at_ns: int, /) -> None:
        """See maxconsole.link.client.Sink."""
        self._telemetry.accept(news, counters, at_ns)
        complete = [self._follow(one) for one in news]
        transcript = self._transcript
        if transcript is not None and any(complete):
            after = self._telemetry.snapshot()
            if after.hello is None:
                self._break_off("the recording does not say what the counters count")
                return
            self._transcript = None
            self._tell(Answered(transcript.answer(after, after.hello, self._badge)))

    def end(self) -> None:
        """Nothing more will come."""
        self._break_off("the recording ends in the middle of the answer")

    def _command(self, frame: Frame, at_ns: int) -> None:
        try:
            if frame.type == wire.MessageType.PROMPT_PART:
                if wire.PromptPart.unpack(frame.payload).offset == 0:
                    self._before = self._telemetry.snapshot()
            elif frame.type == wire.MessageType.GENERATE:
                self._begin(wire.Generate.unpack(frame.payload), frame.seq, at_ns)
            elif frame.type == wire.MessageType.QUERY:
                item = wire.Query.unpack(frame.payload).item
                if item == wire.QueryItem.STATUS and self._transcript is not None and self._transcript.ended:
                    self._status_seq = frame.seq
        except ValueError:  # a command of another protocol, which the board has not understood either
            return

    def _begin(self, command: wire.Generate, seq: int, at_ns: int) -> None:
        if command.flags & wire.GenerateFlag.LOGITS:  # a measurement, and no conversation
            return
        self._break_off("another request has followed")
        before = self._before or self._telemetry.snapshot()
        self._transcript = Transcript(command, at_ns, before, Detokenizer(self._texts))
        self._generate_seq, self._status_seq = seq, -1
        self._tell(Asked(self._words, command.keep + command.prompt_tokens))
        self._words = ""

    def _follow(self, one: News) -> bool:
        """Whether `one` is the last thing that was waited for."""
        transcript = self._transcript
        match one:
            case wire.Hello() if not one.flags & wire.HelloFlag.ANSWER:
                self._break_off("the board has restarted")
            case wire.Fault():
                self._break_off(diagnosis.fault_error(one, diagnosis.NoSymbols()).what)
            case wire.Token() | wire.Done() if transcript is not None and one.request == transcript.command.request:
                if text := transcript.take(one, self._clock()):
                    self._tell(Said(text))
            case wire.Reply() if transcript is not None:
                if one.command == wire.MessageType.GENERATE and one.command_seq == self._generate_seq and one.status:
                    self._break_off(RefusedError(one).what)
                return one.command == wire.MessageType.QUERY and one.command_seq == self._status_seq
        return False

    def _break_off(self, why: str) -> None:
        transcript, self._transcript = self._transcript, None
        if transcript is not None:
            self._tell(BrokenOff(why, transcript.text, transcript.tokens))


class _Numbers:
    """Stands in for a vocabulary that was not recorded."""

    space_prefix = False

    def token_bytes(self, token: int, /) -> bytes:
        return b"[%d]" % token
