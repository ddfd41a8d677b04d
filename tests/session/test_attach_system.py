# SPDX-License-Identifier: Apache-2.0
"""Attaching through the serial port of a virtual board that somebody else runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxconsole.session.sampling import GREEDY
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup, prepare
from maxconsole.virtual import Options, VirtualBoard


@pytest.mark.system
def test_a_virtual_board_that_others_have_started_answers_through_its_serial_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    ports: list[str] = []
    prepared = prepare(Setup(context=128, link="uart"))
    weights = (prepared.plan.weight.base, prepared.image.data)
    options = Options(timing=False, on_port=ports.append)
    with VirtualBoard(prepared.board, prepared.firmware.elf, images=(weights,), options=options) as board:
        for _ in range(2):  # the board stays when one leaves
            with Session.open(Setup(context=128, port=ports[0])) as session:
                generation = session.ask(session.prepared.model.raw("One, two,").prompt, GREEDY, 4)
                assert "three" in "".join(generation)
            board.check()
