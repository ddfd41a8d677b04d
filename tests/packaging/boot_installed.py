# SPDX-License-Identifier: Apache-2.0
"""Run by the Python of an environment that only has the wheel: builds the firmware, boots it, prints facts as JSON."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import maxconsole
from maxconsole.boards import load_board, plan_unbound
from maxconsole.firmware.build import build
from maxconsole.firmware.elf import RTT_SYMBOL, read_elf, report
from maxconsole.link.frames import Decoder, Frame
from maxconsole.link.rtt import RttTransport
from maxconsole.schema.wire import Hello, HelloFlag, MessageType
from maxconsole.virtual.board import VirtualBoard

HELLO_SECONDS = 30.0


def wait_for_hello(transport: RttTransport) -> Hello:
    decoder = Decoder()
    end = time.monotonic() + HELLO_SECONDS
    while time.monotonic() < end:
        for item in decoder.feed(transport.read(0.1)):
            if isinstance(item, Frame) and item.type == MessageType.HELLO:
                return Hello.unpack(item.payload)
    sys.exit("the board did not say HELLO")


def main() -> None:
    board = load_board()
    built = build(board, plan_unbound(board))
    elf = read_elf(built.elf)
    facts: dict[str, object] = {"package": str(Path(maxconsole.__file__).parent), "image": asdict(report(elf))}
    with VirtualBoard(board, built.elf) as machine:
        transport = RttTransport.attach(machine, elf.address_of(RTT_SYMBOL), timeout=HELLO_SECONDS)
        hello = wait_for_hello(transport)
        transport.close()
    facts["build_id"] = hello.build_id.hex()
    facts["board"] = hello.board
    facts["modelled"] = bool(hello.flags & HelloFlag.MODELLED)
    print(json.dumps(facts))


main()
