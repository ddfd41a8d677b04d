# SPDX-License-Identifier: Apache-2.0
"""The program as its users' shells see it: streams, signals, pipes, colors, start-up time."""

from __future__ import annotations

import os
import resource
import signal
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


def test_no_verb_prints_help_without_escape_sequences() -> None:
    done = run()
    assert done.returncode == 0
    assert "maxconsole demo" in done.stdout
    assert "\x1b" not in done.stdout
    for verb in ("boards", "model", "plan", "build", "flash", "ask", "checkasm", "doctor", "demo"):
        assert f"\n  {verb} " in done.stdout


def test_an_error_is_a_message_on_stderr_with_what_to_do() -> None:
    done = run("boards", "rpi5-virtuel")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: there is no board named")
    assert "did you mean rpi5-virtual?" in done.stderr


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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_the_program_with_their_exit_codes(number: int, code: int) -> None:
    script = (
        "import os, time\nfrom maxconsole.cli import app\n"
        "def wait():\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "import maxconsole.cli.boards as boards\nboards.list_boards = wait\n"
        "from maxconsole.cli import main\nimport sys\nsys.argv = ['maxconsole', 'boards']\nmain()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Traceback" not in errors


def processor_seconds(*arguments: str) -> float:
    """The least of three runs, of the program and what it starts."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return best


def bare_interpreter_seconds() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(5):
        subprocess.run([sys.executable, "-c", "import dataclasses, json, pathlib, argparse"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) / 5


@pytest.mark.parametrize("arguments", [("--help",), ("boards",)])
def test_start_up_takes_less_than_0_4_seconds_of_an_idle_processor(arguments: tuple[str, ...]) -> None:
    """Measured against a bare interpreter, 0.04 s when idle, so that a busy host does not fail it."""
    run(*arguments)  # compiles
    assert processor_seconds(*arguments) < max(0.4, 10 * bare_interpreter_seconds())


def test_heavy_modules_are_not_imported_for_help_and_boards() -> None:
    code = "import sys\nfrom maxconsole.cli import app, boards\nprint(sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "gguf", "tokenizers", "elftools", "jinja2", "textual"):
        assert f"'{heavy}'" not in modules


def test_a_cache_that_cannot_be_written_is_a_plain_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run("model", "list", MAXCONSOLE_CACHE=str(blocked / "cache"))
    assert done.returncode == 1
    assert "MAXCONSOLE_CACHE" in done.stderr
