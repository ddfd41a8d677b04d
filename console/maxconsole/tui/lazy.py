# SPDX-License-Identifier: Apache-2.0
"""The workbench as the first screen needs it: there at once, with everything behind it loaded when it is asked."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from maxconsole.tui.seam import BoardCard, Choice, Generating, KernelCode, ModelCard, Progress, RecordingCard, Session

if TYPE_CHECKING:
    from maxconsole.tui.workbench import RealWorkbench


class LazyWorkbench:
    """See maxconsole.tui.seam.Workbench."""

    def __init__(self, default: Choice) -> None:
        self.default = default

    @cached_property
    def _real(self) -> RealWorkbench:
        from maxconsole.tui.workbench import RealWorkbench  # noqa: PLC0415  it takes longer than the first paint may

        real = RealWorkbench(self.default)
        self.default = real.default
        return real

    def warm_up(self) -> None:
        """Loads what is behind it, in a thread, so that the first question is answered soon."""
        threading.Thread(target=lambda: self._real, name="maxconsole-load", daemon=True).start()

    def boards(self) -> Sequence[BoardCard]:
        return self._real.boards()

    def models(self, choice: Choice) -> Sequence[ModelCard]:
        return self._real.models(choice)

    def model(self, path: str, choice: Choice) -> ModelCard:
        return self._real.model(path, choice)

    def check(self, choice: Choice, generating: Generating) -> None:
        self._real.check(choice, generating)

    def open(self, choice: Choice, progress: Progress) -> Session:
        return self._real.open(choice, progress)

    def kernels(self, choice: Choice, firmware: str) -> Sequence[KernelCode]:
        return self._real.kernels(choice, firmware)

    def recordings(self) -> Sequence[RecordingCard]:
        return self._real.recordings()

    def replay(self, path: str) -> Session:
        return self._real.replay(path)
