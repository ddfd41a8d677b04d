# SPDX-License-Identifier: Apache-2.0
"""A session on a scripted board. Model files come from the writer that the model tests have."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))

import scripted_board as scripts
from gguf_files import write_model
from scripted_board import HELLO, Connect, ScriptedBoard

from maxconsole.boards import load_board, plan
from maxconsole.firmware.build import BuiltFirmware
from maxconsole.firmware.symbols import Location
from maxconsole.models.model import Model
from maxconsole.session import diagnosis
from maxconsole.session.session import Session
from maxconsole.session.setup import Prepared, Setup

BUILD_ID = bytes(range(20)).hex()


class Symbols:
    """A symbolizer that needs no ELF file."""

    def __init__(self, path: Path) -> None:
        del path

    def symbolize(self, address: int) -> Location:
        return Location(address, f"function_{address & 0xFF:x}", 4, "firmware/engine/forward.c", address & 0xFF)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    folder = tmp_path_factory.mktemp("session")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXCONSOLE_CACHE", str(folder / "cache"))
        patch.setattr(diagnosis, "Symbolizer", Symbols)
        board = load_board("aimax395-virtual")
        model = Model.open(write_model(folder / "tiny.gguf"))
        yield Prepared(
            setup=Setup(board=board.name, model=str(model.file.path), context=128),
            board=board,
            model=model,
            plan=plan(board, model.facts, 128),
            image=model.image(),
            firmware=BuiltFirmware(folder / "firmware.elf", BUILD_ID, board.name, "engine", "gcc", 1, 0, 0.1),
        )


@pytest.fixture
def connect(prepared: Prepared) -> Iterator[Connect]:
    sessions: list[Session] = []

    def make(
        script: scripts.Script = scripts.answering, *, record: Path | None = None, **options: object
    ) -> tuple[Session, ScriptedBoard]:
        hello = dataclasses.replace(HELLO, image_crc=prepared.image.header.header_crc)
        board = ScriptedBoard(script, **{"hello": hello, **options})  # type: ignore[arg-type]
        setup = dataclasses.replace(prepared.setup, record=record)
        sessions.append(Session(dataclasses.replace(prepared, setup=setup), board))
        return sessions[-1], board

    yield make
    for session in sessions:
        session.close()
