# SPDX-License-Identifier: Apache-2.0
"""A Transport around another one that shows its bytes to a recorder, which can come and go in mid-session."""

from __future__ import annotations

from maxconsole.link.transport import Transport
from maxconsole.recording.recorder import Recorder


class Tap:
    """`transport` with everything that goes through it also given to `recorder`, while there is one."""

    def __init__(self, transport: Transport, recorder: Recorder | None = None) -> None:
        self.recorder = recorder
        self._transport = transport

    def read(self, timeout: float, /) -> bytes:
        """See Transport."""
        data = self._transport.read(timeout)
        if data and (recorder := self.recorder) is not None:
            recorder.received(data)
        return data

    def write(self, data: bytes, /) -> None:
        """See Transport. Recorded before it is sent, so that no answer stands before its command."""
        if (recorder := self.recorder) is not None:
            recorder.sent(data)
        self._transport.write(data)

    def close(self) -> None:
        """Closes the transport, and not the recorder, which is its owner's."""
        self._transport.close()
