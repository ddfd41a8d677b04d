# SPDX-License-Identifier: Apache-2.0
"""The program as its users' shells see it: exit codes, streams, signals, pipes, colors, start-up time."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-c", "from maxconsole.cli import main; main()"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )


def test_no_verb_prints_help() -> None:
    done = run()
    assert done.returncode == 0
    assert "maxconsole demo" in done.stdout
    for verb in ("boards", "model", "plan", "build", "flash", "ask", "checkasm", "doctor", "demo"):
        assert f"\n  {verb} " in done.stdout


def test_help_without_colors_has_no_escape_sequences() -> None:
    assert "\x1b" not in run("--help").stdout


@pytest.mark.parametrize(
    "verb", ["boards", "model", "model info", "plan", "build", "flash", "ask", "checkasm", "doctor", "demo"]
)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    done = run(*verb.split(), "--help")
    assert done.returncode == 0
    assert verb == "model" or "xample" in done.stdout
    assert "--json" in done.stdout or verb == "model"


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout.split()[0] == "maxconsole"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("no-such-verb",), 2),
        (("boards", "--no-such-option"), 2),
        (("boards", "no-such-board"), 1),
        (("plan", "no-such-file.gguf"), 1),
        (("plan", "--context", "many"), 2),
        (("ask", "--chat", "--json"), 2),
        (("ask",), 1),
    ],
)
def test_mistakes_have_a_message_and_an_exit_code_and_no_traceback(arguments: tuple[str, ...], code: int) -> None:
    done = run(*arguments)
    assert done.returncode == code
    assert done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_error_says_what_to_do() -> None:
    done = run("boards", "rpi5-virtuel")
    assert done.stderr.startswith("error: there is no board named")
    assert "did you mean rpi5-virtual?" in done.stderr


def test_json_is_one_document_on_stdout() -> None:
    boards = json.loads(run("boards", "--json").stdout)
    assert {board["name"] for board in boards} >= {"aimax395-virtual", "rpi5-virtual"}
    assert sum(board["default"] for board in boards) == 1


def test_a_board_in_full_tells_where_its_values_come_from() -> None:
    text = run("boards", "rpi5").stdout
    assert "cpu.clock_hz" in text
    assert "2.4 GHz" in text
    assert "documented" in text
    assert json.loads(run("boards", "rpi5", "--json").stdout)["cpu"]["clock_hz"] == 2_400_000_000


def test_a_reader_that_leaves_early_is_no_error() -> None:
    process = subprocess.Popen([*PROGRAM, "boards", "rpi5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) in (0, 141)


def test_a_closed_stderr_is_no_error() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" 2>&-', "sh", *PROGRAM, "boards", "nowhere"], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 1


@pytest.mark.parametrize("arguments", [("--help",), ("boards",), ("--version",)])
def test_start_up_takes_less_than_0_4_seconds_of_processor_time(arguments: tuple[str, ...]) -> None:
    run(*arguments)  # compiles
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert best < 0.4


def test_heavy_modules_are_not_imported_for_help() -> None:
    code = "import sys\nfrom maxconsole.cli import app\nprint(sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "gguf", "tokenizers", "elftools", "jinja2", "textual"):
        assert f"'{heavy}'" not in modules


def test_the_cache_that_cannot_be_written_is_a_plain_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run("model", "list", MAXCONSOLE_CACHE=str(blocked / "cache"))
    assert done.returncode == 1
    assert "MAXCONSOLE_CACHE" in done.stderr
