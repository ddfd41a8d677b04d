# SPDX-License-Identifier: Apache-2.0
"""QEMU's control socket: one JSON object a line ("QEMU Machine Protocol Specification", QEMU documentation).

Own code, because all that is needed is a handful of commands; the packaged clients bring an event loop along.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Final

from maxconsole.errors import BoardError

_SECONDS: Final = 5.0


class QmpClient:
    """Takes `connection` over. Every method raises BoardError when QEMU does not answer within 5 s, or is gone."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._pending = b""
        try:
            if "QMP" not in self._receive(time.monotonic() + _SECONDS):
                raise BoardError("QEMU's control socket does not speak QMP")
            self.execute("qmp_capabilities")
        except OSError as error:
            self._socket.close()
            raise BoardError(f"QEMU's control socket does not answer: {error}") from error
        except BoardError:
            self._socket.close()
            raise

    def execute(self, command: str, **arguments: object) -> object:
        """Runs `command` and returns what it returns. Raises BoardError with QEMU's words where it refuses."""
        request: dict[str, object] = {"execute": command}
        if arguments:
            request["arguments"] = arguments
        deadline = time.monotonic() + _SECONDS
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            while True:
                answer = self._receive(deadline)
                if "return" in answer:
                    return answer["return"]
                if "error" in answer:
                    raise BoardError(f"QEMU refused {command}: {_description(answer['error'])}")
        except OSError as error:
            raise BoardError(f"QEMU did not answer {command}: {error}") from error

    def terminal(self, label: str) -> str:
        """The path of the pseudo terminal behind the character device `label`."""
        devices = self.execute("query-chardev")
        if isinstance(devices, list):
            for device in devices:
                if isinstance(device, dict) and device.get("label") == label:
                    kind, _, path = str(device.get("filename")).partition(":")
                    if kind == "pty" and path:
                        return path
        raise BoardError(f"QEMU does not say where the terminal of {label} is")

    def _receive(self, deadline: float) -> dict[str, object]:
        """The next message, an event perhaps."""
        while b"\n" not in self._pending:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionResetError("the connection was closed")
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError as error:
            raise BoardError(f"QEMU sent something that is not JSON: {line[:80]!r}") from error
        if not isinstance(message, dict):
            raise BoardError(f"QEMU sent something unexpected: {line[:80]!r}")
        return message

    def close(self) -> None:
        self._socket.close()


def _description(error: object) -> str:
    return str(error.get("desc", error)) if isinstance(error, dict) else str(error)
