# SPDX-License-Identifier: Apache-2.0
"""A board that runs already, with nothing of it in reach but its serial port."""

from __future__ import annotations

from typing import NoReturn

from maxconsole.boards import Board
from maxconsole.errors import BoardError
from maxconsole.link.frames import Counters
from maxconsole.link.serial import SerialTransport
from maxconsole.link.transport import MemoryAccess, Transport
from maxconsole.session.machine import Badge, StoppedCore


class AttachedMachine:
    """See maxconsole.session.machine.Machine. Closing it leaves the board as it is."""

    def __init__(self, board: Board, port: str, baud: int | None) -> None:
        """Opens the port, at the profile's rate for None. Raises UserError: see SerialTransport."""
        self.port = port
        self.baud = baud or board.uart.baud
        self._modelled = board.modelled
        self._transport = SerialTransport(port, self.baud)

    @property
    def memory(self) -> MemoryAccess:
        """Out of reach: raises BoardError."""
        self._no_probe()

    @property
    def badge(self) -> Badge:
        """As the profile says; which version of a timing model runs there cannot be seen from here."""
        return Badge(modelled=self._modelled)

    def transport(self, timeout: float) -> Transport:
        """The port."""
        del timeout
        return self._transport

    def check(self) -> None:
        """Nothing can be seen from outside; a port that goes away ends the link."""

    def halt(self) -> tuple[StoppedCore, ...]:
        """Out of reach: raises BoardError."""
        self._no_probe()

    def uart_text(self) -> str:
        """Nothing: the UART is the link."""
        return ""

    def close(self) -> None:
        """Lets go of the port."""
        self._transport.close()

    def silence(self, received: Counters, seconds: float) -> BoardError:
        """Why no HELLO has come within `seconds`, as far as what has been `received` tells."""
        where = f"{self.port} at {self.baud} baud"
        if received.bytes == 0:
            return BoardError(
                f"nothing has come from {where} within {seconds:g} s",
                hint="check the cable and the board's power, and that it runs the engine with its link on the UART",
            )
        if received.frames == 0:
            return BoardError(
                f"{received.bytes} bytes have come from {where}, and no frame among them",
                hint="the rate is wrong (--baud), or the board runs something else than the engine",
            )
        return BoardError(
            f"the board at {where} does not answer", hint="its engine has stopped, or works on a request: reset it"
        )

    def _no_probe(self) -> NoReturn:
        raise BoardError(f"the board is reached through {self.port} only", hint="a debug probe could do that")
