# SPDX-License-Identifier: Apache-2.0
"""The console in a real pseudo-terminal: colors, pastes, signals, other consoles, and boards that are killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import START, Terminal, children

from maxconsole import paths
from maxconsole.errors import BoardError
from maxconsole.tui.claim import Claim, holder

COLOR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")
MOUSE_OFF = b"\x1b[?1000l"
F1, F5, F12, ESCAPE, CONTROL_C, CONTROL_Q = b"\x1bOP", b"\x1b[15~", b"\x1b[24~", b"\x1b", b"\x03", b"\x11"


@pytest.fixture(autouse=True)
def own_runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that consoles of other tests, or of the person who runs them, are not in the way."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def test_it_draws_in_color_and_restores_the_terminal() -> None:
    with Terminal() as terminal:
        terminal.wait_for_text("commands")
        assert COLOR.search(terminal.output)
        terminal.type(CONTROL_Q)
        assert terminal.wait_for_end() == 0
        assert terminal.output.rindex(b"\x1b[?1049l") > terminal.output.rindex(b"commands")
        assert MOUSE_OFF in terminal.output


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "vt100"}], ids=["NO_COLOR", "vt100"])
def test_where_colors_are_not_wanted_there_are_none(environment: dict[str, str]) -> None:
    with Terminal(environment=environment) as terminal:
        terminal.wait_for_text("commands")
        terminal.type(CONTROL_Q)
        terminal.wait_for_end()
        assert COLOR.findall(terminal.output) == []


@pytest.mark.parametrize("key", [CONTROL_C, CONTROL_Q], ids=["Ctrl-C", "Ctrl-Q"])
def test_keys_leave_the_console(key: bytes) -> None:
    with Terminal() as terminal:
        terminal.wait_for_text("commands")
        terminal.type(key)
        assert terminal.wait_for_end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_the_console_and_restore_the_terminal(number: int) -> None:
    with Terminal() as terminal:
        terminal.wait_for_text("commands")
        terminal.interrupt(number)
        terminal.wait_for_end()
        assert b"\x1b[?1049l" in terminal.output
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize("delay_bytes", [0, 1, 200])
def test_an_interrupt_while_it_starts_leaves_no_process(delay_bytes: int) -> None:
    with Terminal() as terminal:
        terminal.wait_for(lambda: len(terminal.output) >= delay_bytes)
        terminal.type(CONTROL_C)
        terminal.wait_for_end()
        assert group_is_empty(terminal)


def group_is_empty(terminal: Terminal) -> bool:
    """Whether the console and everything that it has started are gone."""
    try:
        os.killpg(terminal.process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_paste_of_a_megabyte_is_answered_and_the_console_goes_on() -> None:
    with Terminal() as terminal:
        terminal.wait_for_text("commands")
        terminal.type(b"\x1b[200~" + b"x" * (1 << 20) + b"\x1b[201~")
        terminal.wait_for_text("too much", timeout=60)
        terminal.type(CONTROL_Q)
        assert terminal.wait_for_end() == 0


def test_without_a_terminal_it_says_so() -> None:
    program = "import sys\nfrom maxconsole.errors import UserError\nfrom maxconsole.tui import Choice, run\n"
    program += "try: run(Choice('x'))\nexcept UserError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "needs a terminal" in done.stdout


def test_a_board_has_one_console_at_a_time() -> None:
    claim = Claim("aimax395-virtual")
    with pytest.raises(BoardError, match=f"in use by another maxconsole, process {os.getpid()}"):
        Claim("aimax395-virtual")
    assert holder("aimax395-virtual") == ""  # it is our own
    assert Claim("rpi5-virtual").release() is None
    claim.release()
    Claim("aimax395-virtual").release()


@pytest.mark.system
def test_a_second_console_on_the_same_board_is_refused_with_the_holder_s_number() -> None:
    with Terminal() as first, Terminal() as second:
        first.wait_for_text("commands")
        first.type(F5)
        first.wait_for_text("The board is ready", timeout=240)
        second.wait_for_text("commands")
        second.type(F5)
        second.wait_for_text(f"process {first.process.pid}", timeout=60)
        second.type(ESCAPE)
        second.type(CONTROL_Q)
        second.wait_for_end()
        first.type(CONTROL_Q)
        first.wait_for_end()


@pytest.mark.system
def test_killing_the_emulator_in_mid_answer_shows_a_message_and_starts_anew() -> None:
    with Terminal() as terminal:
        start_board(terminal)
        terminal.type(b"what is a cache?\r")
        terminal.wait_for_text("answering", timeout=60)
        os.kill(emulator(terminal), signal.SIGKILL)
        terminal.wait_for_text("the answer ended here", timeout=60)
        terminal.type(F5)
        terminal.wait_for_text("The board is ready", timeout=240)
        terminal.type(CONTROL_Q)
        assert terminal.wait_for_end() == 0


@pytest.mark.system
def test_an_emulator_that_dies_while_nobody_asks_is_reported_within_two_seconds() -> None:
    with Terminal() as terminal:
        start_board(terminal)
        os.kill(emulator(terminal), signal.SIGKILL)
        terminal.wait_for_text("the emulator was killed by SIGKILL", timeout=2)
        terminal.wait_for_text("start the board again", timeout=2)
        terminal.type(F5)
        terminal.wait_for_text("The board is ready", timeout=240)
        terminal.type(CONTROL_Q)
        assert terminal.wait_for_end() == 0


@pytest.mark.system
def test_a_terminal_that_shrinks_in_mid_answer_says_so_and_the_answer_goes_on() -> None:
    with Terminal() as terminal:
        start_board(terminal)
        terminal.type(b"what is a cache?\r")
        terminal.wait_for_text("answering", timeout=60)
        terminal.resize(20, 5)
        terminal.wait_for_text("terminal too small")
        terminal.resize(100, 30)
        terminal.wait_for_text("Kernels")
        terminal.type(ESCAPE)
        terminal.wait_for_text("stopped", timeout=60)
        terminal.type(CONTROL_Q)
        assert terminal.wait_for_end() == 0


@pytest.mark.system
def test_firmware_that_does_not_compile_shows_the_compiler_s_words_and_place(tmp_path: Path) -> None:
    sources = tmp_path / "firmware"
    shutil.copytree(paths.firmware_dir(), sources)
    with (sources / "engine" / "main.c").open("a") as file:
        file.write("int broken = ;\n")
    program = (
        f"from pathlib import Path; from maxconsole import paths; paths.firmware_dir = lambda: Path('{sources}')\n"
    )
    with Terminal(program=program + START) as terminal:
        terminal.wait_for_text("commands")
        terminal.type(F5)
        terminal.wait_for_text("the firmware does not compile: 1 error", timeout=240)
        terminal.wait_for(lambda: b"engine/main.c" in terminal.output and b"expected expression" in terminal.output)
        assert b"Traceback" not in terminal.output
        terminal.type(ESCAPE)
        terminal.type(CONTROL_Q)
        assert terminal.wait_for_end() == 0


#: A board with 64 MB for a model of 93 MB.
SMALL_BOARD = """
extends = "aimax395-virtual"
name = "small"
[memory]
ram = [{ base = 0x8000_0000, size_bytes = 0x0900_0000 }]
carve_outs = [{ name = "NPU_MEM", base = 0x8800_0000, size_bytes = 0x0100_0000 }]
"""


@pytest.mark.system
def test_a_model_that_does_not_fit_is_refused_with_how_much_is_missing(tmp_path: Path) -> None:
    profile = tmp_path / "small.toml"
    profile.write_text(SMALL_BOARD)
    with Terminal(board=str(profile)) as terminal:
        terminal.wait_for_text("commands")
        terminal.type(F5)
        terminal.wait_for_text("does not fit", timeout=60)
        terminal.wait_for_text("too much")
        terminal.type(ESCAPE)
        terminal.type(CONTROL_Q)
        assert terminal.wait_for_end() == 0
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize("key", [CONTROL_C, CONTROL_Q], ids=["Ctrl-C", "Ctrl-Q"])
def test_the_demo_on_a_terminal_is_a_tour_after_which_the_console_stays(key: bytes) -> None:
    program = "import sys; sys.argv = ['maxconsole', 'demo', '--replay', '--speed', '16']\n"
    with Terminal(program=program + "from maxconsole.cli import main; main()") as terminal:
        terminal.wait_for_text("1/6")
        terminal.wait_for_text("2/6")
        terminal.type(F12)
        terminal.wait_for_text("commands")
        terminal.type(F1)
        terminal.wait_for_text("scroll")
        terminal.type(ESCAPE)
        terminal.type(key)
        assert terminal.wait_for_end() == 0
        assert group_is_empty(terminal)


def test_the_console_is_opened_before_what_it_does_not_show_is_loaded() -> None:
    program = """
import sys
from maxconsole import tui
sys.argv = ["maxconsole"]
tui.run = lambda choice: len({"typer", "numpy", "maxconsole.boards"} & set(sys.modules))
from maxconsole.cli import main
main()
"""
    with Terminal(program=program.replace("{", "{{").replace("}", "}}")) as terminal:
        assert terminal.wait_for_end() == 0


def test_the_program_without_a_verb_opens_the_console() -> None:
    with Terminal(program="import sys; sys.argv = ['maxconsole']; from maxconsole.cli import main; main()") as terminal:
        terminal.wait_for_text("commands")
        terminal.type(CONTROL_Q)
        assert terminal.wait_for_end() == 0


@pytest.mark.system
@pytest.mark.parametrize("wait", ["build", "boot", "answering"])
def test_leaving_at_any_moment_leaves_nothing_behind(wait: str, tmp_path: Path) -> None:
    before = set(os.listdir("/dev/shm"))
    with Terminal() as terminal:
        terminal.wait_for_text("commands")
        terminal.type(F5)
        if wait == "answering":
            terminal.wait_for_text("The board is ready", timeout=240)
            terminal.type(b"what is a cache?\r")
        terminal.wait_for_text(wait, timeout=240)
        terminal.type(CONTROL_C)
        terminal.wait_for_end(120)
        assert group_is_empty(terminal)
    left = {one.name for one in tmp_path.rglob("*")} - {f"maxconsole-{os.getuid()}"}
    assert {one for one in left if not one.endswith(".lock")} == set()
    assert {one for one in set(os.listdir("/dev/shm")) - before if "maxconsole" in one} == set()


def start_board(terminal: Terminal) -> None:
    terminal.wait_for_text("commands")
    terminal.type(F5)
    terminal.wait_for_text("The board is ready", timeout=240)


def emulator(terminal: Terminal) -> int:
    """The process of the board."""
    (only,) = [one for one in children(terminal.process.pid) if "qemu" in _name(one)]
    return only


def _name(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text("ascii").strip()
