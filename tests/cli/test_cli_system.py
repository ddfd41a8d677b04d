# SPDX-License-Identifier: Apache-2.0
"""The command line on the real virtual board, with a tiny model."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gguf_files import write_model

from maxconsole.recording import Recording

pytestmark = pytest.mark.system

PROGRAM = [sys.executable, "-c", "from maxconsole.cli import main; main()"]
MARK = "MAXCONSOLE_TEST_RUN"
SMALL = ("--context", "128", "--batch", "16")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> dict[str, str]:
    model = write_model(
        tmp_path_factory.mktemp("cli") / "tiny.gguf", hidden=256, heads=4, kv_heads=2, ffn=512, layers=2
    )
    assert pytestconfig.cache is not None
    cache = str(pytestconfig.cache.mkdir("maxconsole"))
    ours = {"MAXCONSOLE_CACHE": cache, "MAXCONSOLE_MODEL": str(model), "NO_COLOR": "1", MARK: uuid.uuid4().hex}
    return {**os.environ, **ours}


@pytest.fixture(autouse=True)
def nothing_is_left_behind(environment: dict[str, str]) -> Iterator[None]:
    """Every emulator that a test started has ended when the test has."""
    yield
    end = time.monotonic() + 10
    while emulators(environment) and time.monotonic() < end:
        time.sleep(0.1)
    assert not emulators(environment)


def emulators(environment: dict[str, str]) -> set[int]:
    """Emulators that these tests have started, found by a mark in their environment."""
    mark = f"{MARK}={environment[MARK]}".encode()
    found = set()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if b"qemu-system" in (folder / "comm").read_bytes() and mark in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    return found


def run(environment: dict[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], env=environment, input=stdin, capture_output=True, text=True, timeout=280, check=False
    )


def document(environment: dict[str, str], *arguments: str) -> Any:
    done = run(environment, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" or "error" not in done.stderr
    return json.loads(done.stdout)


def test_ask_prints_the_answer_and_then_the_table(environment: dict[str, str]) -> None:
    done = run(environment, "ask", "hello", "--greedy", "-n", "4", *SMALL)
    assert done.returncode == 0, done.stderr
    answer, _, figures = done.stdout.partition("\n\nphase ")
    assert answer
    for words in ("linear_gate", "instr/MAC", "KV ring", "tokens/s on the board", "MODELLED (timing model"):
        assert words in figures
    assert "Traceback" not in done.stderr


def test_ask_as_json_and_from_stdin(environment: dict[str, str]) -> None:
    plain = run(environment, "ask", "--greedy", "-n", "4", "--no-telemetry", "--timing", "off", *SMALL, stdin="hello")
    result = document(environment, "ask", "hello", "--greedy", "-n", "4", *SMALL)
    assert result["answer"]["generated_tokens"] == 4
    assert result["answer"]["decode"]["tokens_per_s"] > 0
    assert {row["kernel"] for row in result["answer"]["kernels"]} >= {"attention", "head", "sample"}
    assert plain.stdout == result["answer"]["text"] + "\n"
    assert result["setup"]["board"] == "aimax395-virtual"


def test_chat_without_a_terminal_takes_a_turn_from_each_line(environment: dict[str, str]) -> None:
    done = run(environment, "ask", "--chat", "--greedy", "-n", "4", "--timing", "off", *SMALL, stdin="hello\n\nworld\n")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("KV ring") == 2
    assert "more were cached" in done.stderr


def test_ctrl_c_stops_the_answer_and_still_gives_its_figures(environment: dict[str, str]) -> None:
    arguments = ["ask", "hello", "-n", "100000", "--raw", "--seed", "1", "--temperature", "5", "--top-p", "1", *SMALL]
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.read(3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert b"ended by cancelled" in output or b"ended by stop token" in output
    assert b"Traceback" not in errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_ending_the_program_ends_the_board(environment: dict[str, str], number: int, code: int) -> None:
    arguments = ["ask", "hello", "-n", "100000", "--raw", "--seed", "1", "--temperature", "5", "--top-p", "1", *SMALL]
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(3)
    process.send_signal(number)
    if number == signal.SIGINT:
        time.sleep(0.05)
        process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    assert b"Traceback" not in errors


def test_flash_lets_the_board_confirm_what_it_holds(environment: dict[str, str]) -> None:
    result = document(environment, "flash", *SMALL)
    assert [region["name"] for region in result["verified"]] == ["code", "constants", "weights"]
    assert result["board"]["model_loaded"] is True


def test_bench_speed_is_repeatable(environment: dict[str, str]) -> None:
    (result,) = document(
        environment, "bench", "speed", "--prompt-tokens", "20", "--new-tokens", "4", "--runs", "2", *SMALL
    )
    assert result["prefill_tokens_per_s"] > 0
    assert len(result["runs"]) == 2
    assert {run["generated_tokens"] for run in result["runs"]} == {4}


def test_bench_accuracy_compares_with_the_float_model(environment: dict[str, str]) -> None:
    result = document(environment, "bench", "accuracy", "--tokens", "150", *SMALL)
    assert result["agreement"]["positions"] == 150
    assert result["sequences"] == 2
    assert result["agreement"]["top1"] > 0.6
    assert result["agreement"]["mean_kl"] < 1
    assert sum(band["agreement"]["positions"] for band in result["bands"]) == 150


def test_the_demo_runs_unattended(environment: dict[str, str]) -> None:
    result = document(environment, "demo", "-n", "4", *SMALL, "--model", environment["MAXCONSOLE_MODEL"])
    assert [finding["state"] for finding in result["doctor"] if finding["state"] == "missing"] == []
    assert len(result["answers"]) == 2
    assert result["answers"][1]["cached_tokens"] > 0
    text = run(environment, "demo", "-n", "2", "--timing", "off", *SMALL, "--model", environment["MAXCONSOLE_MODEL"])
    assert text.returncode == 0
    assert "What goes where" in text.stdout


def test_doctor_finds_everything_on_this_host(environment: dict[str, str]) -> None:
    assert {finding["state"] for finding in document(environment, "doctor")} <= {"fine", "note"}


@pytest.mark.parametrize("link", ["rtt", "serial"])
def test_a_replay_prints_what_the_session_printed(environment: dict[str, str], tmp_path: Path, link: str) -> None:
    path = str(tmp_path / "a.mcap")
    asked = ["hello", "--seed", "5", "-n", "12", "--link", link, *SMALL]
    live = run(environment, "record", path, *asked)
    assert live.returncode == 0, live.stderr
    assert run(environment, "replay", path).stdout == live.stdout
    assert run(environment, "replay", path, "--speed", "max").stdout == live.stdout
    answer = document(environment, "ask", *asked, "--record", path, "--force")
    replayed = document(environment, "replay", path, "--speed", "max")
    assert replayed == answer
    assert answer["answer"]["text"] == live.stdout.partition("\n\nphase ")[0].rstrip("\n")


def test_a_chat_is_replayed_turn_by_turn(environment: dict[str, str], tmp_path: Path) -> None:
    path = str(tmp_path / "a.mcap")
    live = run(
        environment, "record", path, "--chat", "--greedy", "-n", "4", "--timing", "off", *SMALL, stdin="hello\nworld\n"
    )
    assert live.returncode == 0, live.stderr
    played = run(environment, "replay", path, "--speed", "max")
    assert played.stdout.startswith(live.stdout)
    assert [line for line in played.stderr.splitlines() if line.startswith("> ")] == ["> hello", "> world"]
    assert len(document(environment, "replay", path, "--speed", "max")["answers"]) == 2


def test_killing_the_console_while_it_records_loses_at_most_half_a_second(
    environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "a.mcap"
    # The tiny model's likeliest token soon is the same for ever.
    arguments = ["record", str(path), "hello", "-n", "100000", "--raw", "--greedy", *SMALL]
    with subprocess.Popen(
        [*PROGRAM, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.read(3)
        time.sleep(2)
        killed_ns = time.time_ns()
        process.kill()
    with Recording.open(path) as recording:
        transfers = list(recording.transfers())
        loss = recording.check()
    assert not loss.closed
    assert (loss.damaged_chunks, loss.missing_transfers) == (0, 0)
    # The board sends with every token, some ms apart: what is not there is what was lost.
    assert (killed_ns - transfers[-1].wall_ns) / 1e9 <= 0.5
    played = document(environment, "replay", str(path), "--speed", "max")
    assert played["answers"] == []
    assert len(played["broken_off"][0]["tokens"]) > 10
    text = run(environment, "replay", str(path), "--speed", "max")
    assert text.returncode == 0
    assert "up to its last 0.5 s may be missing" in text.stderr
    assert "Traceback" not in text.stderr


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_bench_of_a_phase_says_where_its_cycles_went(environment: dict[str, str], phase: str) -> None:
    result = document(environment, "bench", phase, "--tokens", "5", "--cores", "2", "--timing", "fast")
    assert result["tokens"] == 5
    assert result["total_cycles"] == pytest.approx(5 * result["cycles_per_token"])
    assert sum(result["breakdown"].values()) == sum(row["cycles"] for row in result["kernels"])
    assert result["configuration"]["cores_used"] == 2
    assert result["badge"]["modelled"]
