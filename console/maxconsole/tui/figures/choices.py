# SPDX-License-Identifier: Apache-2.0
"""What a user can choose about the figures. Apart from the rest, so that the first screen needs no numpy."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Choice(StrEnum):
    """A choice among a few; the value is how it is called on the screen."""

    @property
    def following(self) -> Self:
        """The next one, the first after the last."""
        members = list(type(self))
        return members[(members.index(self) + 1) % len(members)]


class PhaseChoice(Choice):
    """Which steps are summed."""

    BOTH = "prefill + decode"
    PREFILL = "prefill"
    DECODE = "decode"


class StepChoice(Choice):
    """Which step the timeline shows."""

    DECODE = "decode"
    PREFILL = "prefill"


class Counters(Choice):
    """What the six counters count, by the name of a set of events."""

    CACHES = "caches"
    MEMORY = "memory"
    STALLS = "stalls"
    TRANSLATION = "translation"


class Order(Choice):
    """How the kernels are sorted."""

    SHARE = "share"
    EXECUTION = "execution"
    IPC = "IPC"
