# SPDX-License-Identifier: Apache-2.0
"""The first words of a board: waits for them and refuses a board that runs something else than what was flashed."""

from __future__ import annotations

import time

from maxconsole.errors import BoardError
from maxconsole.link.client import Link
from maxconsole.schema import wire
from maxconsole.session import diagnosis
from maxconsole.session.attached import AttachedMachine
from maxconsole.session.machine import Machine
from maxconsole.session.progress import Progress
from maxconsole.session.setup import Prepared
from maxconsole.telemetry.fold import Telemetry

_SLICE = 0.1
#: An emulated UART takes a second to notice that somebody listens, and drops what comes before.
_ASK_EVERY = 1.0
_FLASH_AGAIN = "the board runs another firmware than the one that was flashed: flash again"


def wait_for_hello(
    link: Link,
    machine: Machine,
    telemetry: Telemetry,
    symbols: diagnosis.Symbols,
    progress: Progress,
    *,
    timeout: float,
) -> wire.Hello:
    """The HELLO of a board that has just started.

    Raises BoardError with what is known of a board that does not send one in time, and what `progress` raises.
    """
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        news = link.receive(_SLICE)
        if isinstance(news, wire.Hello):
            return news
        if isinstance(news, wire.Fault):
            raise diagnosis.fault_error(news, symbols)
        machine.check()
        progress("boot", 0, 0)
    if telemetry.snapshot().link.malformed_frames:
        raise BoardError("the board speaks, but not this console's protocol", hint=_FLASH_AGAIN)
    raise diagnosis.silence_error(machine, symbols, timeout, "HELLO")


def ask_for_hello(
    link: Link, machine: AttachedMachine, telemetry: Telemetry, progress: Progress, *, timeout: float
) -> wire.Hello:
    """The HELLO of a board that has been running for a while.

    Raises BoardError that says what is wrong with the port when there is none in time, and what `progress` raises.
    """
    begin, asked = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < timeout:
        if passed >= asked * _ASK_EVERY:
            link.send(wire.Query(item=wire.QueryItem.HELLO))
            asked += 1
        news = link.receive(_SLICE)
        if isinstance(news, wire.Fault):
            raise diagnosis.fault_error(news, diagnosis.NoSymbols())
        if (hello := telemetry.snapshot().hello) is not None:
            return hello
        progress("attach", 0, 0)
    raise machine.silence(link.counters, timeout)


def check_hello(hello: wire.Hello, prepared: Prepared, telemetry: Telemetry) -> None:
    """Raises BoardError for a board that does not run exactly the firmware and the weights of `prepared`."""
    if hello.protocol != wire.PROTOCOL_VERSION:
        raise BoardError(
            f"the board speaks protocol {hello.protocol}, this console {wire.PROTOCOL_VERSION}", hint=_FLASH_AGAIN
        )
    if hello.schema_hash != wire.SCHEMA_HASH:
        raise BoardError(
            f"the board's messages have the schema {hello.schema_hash:08x}, this console's {wire.SCHEMA_HASH:08x}",
            hint=_FLASH_AGAIN,
        )
    if hello.build_id.hex() != prepared.firmware.build_id:
        raise BoardError(
            f"the board runs build {hello.build_id.hex()[:12]}, not {prepared.firmware.build_id[:12]}",
            hint=_FLASH_AGAIN,
        )
    if not hello.flags & wire.HelloFlag.MODEL_LOADED:
        raise BoardError("the firmware did not accept the weights", hint="\n  ".join(_complaints(telemetry)))
    if hello.image_crc != prepared.image.header.header_crc:
        raise BoardError("the board holds other weights than those that were flashed", hint="flash again")


def _complaints(telemetry: Telemetry) -> list[str]:
    """What the board has logged, warnings and errors if there are any."""
    log = telemetry.snapshot().log
    serious = [line.text for line in log if line.level is not None and line.level <= wire.LogLevel.WARNING]
    return serious or [line.text for line in log] or ["it gave no reason"]
