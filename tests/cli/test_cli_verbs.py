# SPDX-License-Identifier: Apache-2.0
"""Verbs that need no board: help, JSON, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from gguf_files import write_model
from typer.testing import CliRunner

from maxconsole.cli.app import VERBS, app

runner = CliRunner()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("MAXCONSOLE_MODEL", raising=False)
    monkeypatch.delenv("MAXCONSOLE_BOARD", raising=False)


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(write_model(tmp_path / "tiny.gguf"))


BENCHES = [f"bench {what}" for what in ("prefill", "decode", "limits", "speed", "accuracy")]


def document(*arguments: str) -> Any:
    done = runner.invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("verb", [*VERBS, "model info", "model pack", "model fetch-demo", "model list", *BENCHES])
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    done = runner.invoke(app, [*verb.split(), "--help"])
    assert done.exit_code == 0
    if verb not in ("model", "bench"):
        assert "xample" in done.stdout
        assert "--json" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("no-such-verb",), 2),
        (("boards", "--no-such-option"), 2),
        (("boards", "no-such-board"), 1),
        (("plan", "no-such-file.gguf"), 1),
        (("plan", "--context", "many"), 2),
        (("plan",), 1),
        (("ask", "hello", "--chat", "--json"), 2),
        (("ask", "hello", "--top-p", "7"), 2),
        (("ask",), 1),
        (("record",), 2),
        (("record", "missing/a.mcap", "hello"), 1),
        (("replay",), 2),
        (("replay", "no-such-recording"), 1),
        (("replay", "first-answer", "--speed", "fast"), 2),
        (("replay", "first-answer", "--speed", "0"), 2),
        (("demo", "--replay", "--speed", "inf"), 2),
        (("ask", "hello", "--link", "telepathy"), 2),
        (("ask", "hello", "--port", "/dev/ttyNONE"), 1),
        (("--port", "/dev/ttyNONE", "ask", "hello"), 2),
        (("--port", "/dev/ttyNONE"), 1),
    ],
)
def test_mistakes_have_a_message_and_an_exit_code(arguments: tuple[str, ...], code: int) -> None:
    done = runner.invoke(app, arguments)
    assert done.exit_code == code
    assert done.stderr
    assert done.stdout == ""


def test_boards_as_json() -> None:
    boards = document("boards")
    assert {board["name"] for board in boards} >= {"aimax395-virtual", "rpi5-virtual"}
    assert [board["name"] for board in boards if board["default"]] == ["aimax395-virtual"]
    assert document("boards", "rpi5")["cpu"]["clock_hz"] == 2_400_000_000


def test_a_board_in_full_tells_where_its_values_come_from() -> None:
    text = runner.invoke(app, ["boards", "rpi5"]).stdout
    assert "cpu.clock_hz" in text
    assert "2.4 GHz" in text
    assert "documented" in text


@pytest.mark.parametrize("verb", [("ask", "hello"), ("flash",), ("checkasm",)])
def test_boards_that_cannot_be_flashed_are_refused_before_anything_is_built(verb: tuple[str, ...], model: str) -> None:
    done = runner.invoke(app, [*verb, "--board", "rpi5"], env={"MAXCONSOLE_MODEL": model})
    assert done.exit_code == 1
    assert "choose a virtual board" in done.stderr
    assert "build" not in done.stderr


def test_model_info_describes_the_file_and_its_image(model: str) -> None:
    info = document("model", "info", model)
    assert (info["name"], info["layers"], info["heads"]) == ("tiny test model", 2, 4)
    assert 0 < sum(info["image"]["bytes_by_format"].values()) < info["image"]["bytes"]
    assert info["tokenizer"]["chat_template"] is True
    assert "tiny test model" in runner.invoke(app, ["model", "info", model]).stdout


def test_model_pack_fills_the_cache_and_model_list_shows_it(model: str) -> None:
    packed = document("model", "pack", model)
    assert Path(packed["image"]).stat().st_size == packed["bytes"]
    listed = document("model", "list")
    assert [entry["kind"] for entry in listed] == ["image"]


def test_plan_says_what_goes_where(model: str) -> None:
    planned = document("plan", model, "--context", "128")
    assert [pool["name"] for pool in planned["pools"]] == ["WEIGHT", "ACTIVATION", "KV_CACHE", "NPU"]
    text = runner.invoke(app, ["plan", model, "--context", "128"]).stdout
    assert "longest context that fits is 512" in text


def test_a_plan_that_does_not_fit_exits_with_5(model: str, tmp_path: Path) -> None:
    small = tmp_path / "small.toml"
    small.write_text(
        'extends = "rpi5-virtual"\nname = "small"\n[memory]\ncarve_outs = []\n'
        "ram = [{base = 0x8000_0000, size_bytes = 0xc0_0000}]\nreserved = []\n"
        "[virtual]\ndevice_page = 0x7000_0000\n"
    )
    done = runner.invoke(app, ["plan", model, "--board", str(small)])
    assert done.exit_code == 5, done.stderr
    assert "does not fit small" in done.stderr


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    done = runner.invoke(app, ["replay", str(tmp_path / "notes.txt")])
    assert done.exit_code == 1
    assert "is not a recording" in done.stderr


def test_the_console_needs_a_terminal() -> None:
    bare, replay = runner.invoke(app, []), runner.invoke(app, ["replay", "first-answer", "--console"])
    assert "Usage: " in bare.stdout
    assert (replay.exit_code, bare.exit_code) == (1, 0)
    assert "needs a terminal" in replay.stderr


def test_recording_over_a_file_needs_force_and_is_refused_before_anything_is_built(model: str, tmp_path: Path) -> None:
    (tmp_path / "a.mcap").write_text("thesis")
    for verb in (["record", str(tmp_path / "a.mcap"), "hello"], ["ask", "hello", "--record", str(tmp_path / "a.mcap")]):
        done = runner.invoke(app, verb, env={"MAXCONSOLE_MODEL": model})
        assert done.exit_code == 1
        assert "--force" in done.stderr
        assert "build" not in done.stderr
    assert (tmp_path / "a.mcap").read_text() == "thesis"


def test_record_has_the_options_of_ask() -> None:
    ask, record = (runner.invoke(app, [verb, "--help"], terminal_width=200).stdout for verb in ("ask", "record"))
    options = set(re.findall(r"--[a-z-]+", ask))
    assert "--record" in options
    assert set(re.findall(r"--[a-z-]+", record)) == options - {"--record"}


def test_a_shipped_recording_plays_without_a_board_and_without_the_model() -> None:
    played = document("replay", "first-answer", "--speed", "max")
    text = runner.invoke(app, ["replay", "first-answer", "--speed", "max"])
    assert played["setup"]["board"] == "aimax395-virtual"
    assert text.exit_code == 0
    assert text.stdout.startswith(f"{played['answer']['text']}\n\nphase ")
    assert "MODELLED (timing model" in text.stdout
    assert text.stderr.startswith("> ")


def test_the_demo_plays_the_shipped_recordings_without_any_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    played = document("demo", "--replay", "--speed", "max")["recordings"]
    assert [one["name"] for one in played] == ["first-answer", "long-chat", "npu-off", "npu-on"]
    assert len(played[1]["answers"]) > 2
    text = runner.invoke(app, ["demo", "--replay", "--speed", "max"])
    assert text.exit_code == 0
    assert text.stdout.count("MODELLED") == 4
    assert text.stderr.count("> ") == 3 + len(played[1]["answers"])
