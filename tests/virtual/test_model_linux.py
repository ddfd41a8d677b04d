# SPDX-License-Identifier: Apache-2.0
"""Linux programs under the timing model: counts, threads, barriers, regions, and what is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from maxconsole.boards import Board, load_board
from maxconsole.errors import BoardError, ToolMissing, UserError
from maxconsole.virtual.linux import Marks, run_linux
from maxconsole.virtual.linux_command import main
from maxconsole.virtual.linux_program import read_program
from maxconsole.virtual.linux_results import Results
from maxconsole.virtual.plugin import Mode
from maxconsole.virtual.qemu import PluginsMissing, find_user_qemu

SOURCE = Path(__file__).parent / "linux" / "program.c"
TURNS = 10
LINES = 1 << 14


def build(output: Path, *options: str, compiler: str = "aarch64-linux-gnu-gcc") -> Path:
    subprocess.run([compiler, "-O2", "-pthread", *options, str(SOURCE), "-o", str(output)], check=True)
    return output


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        find_user_qemu()
    except PluginsMissing as missing:
        pytest.skip(str(missing))
    return build(tmp_path_factory.mktemp("linux") / "program", "-static", "-no-pie")


@pytest.fixture(scope="module")
def board() -> Board:
    return load_board("rpi5-virtual")


def run(board: Board, program: Path, *arguments: str, mode: Mode = "fast", **marks: tuple[str, ...]) -> Results:
    with open(os.devnull, "w") as nowhere:
        return run_linux(board, [program, *arguments], mode=mode, marks=Marks(**marks), output=nowhere.fileno())


@pytest.mark.system
class TestOneThread:
    def test_a_region_has_exactly_the_instructions_of_its_function(self, board: Board, program: Path) -> None:
        results = run(board, program, "spin", regions=("spin",))
        counts = results.region("spin")
        assert counts.calls == 1
        assert counts.instructions == 2 * 100_000 + 1
        assert 100_000 <= counts.cycles <= 101_000  # one taken branch a cycle

    def test_a_region_includes_what_it_calls(self, board: Board, program: Path) -> None:
        results = run(board, program, "spin", regions=("main", "spin"))
        assert results.region("main").instructions > results.region("spin").instructions

    def test_a_function_that_calls_itself_counts_once(self, board: Board, program: Path) -> None:
        results = run(board, program, "recurse", regions=("recurse", "spin"))
        assert results.region("recurse").calls == 1
        assert results.region("spin").calls == 10
        assert 10 * 201 < results.region("recurse").instructions < 10 * 201 + 200

    def test_a_region_that_longjmp_leaves_ends_when_its_caller_returns(self, board: Board, program: Path) -> None:
        results = run(board, program, "jump", regions=("jump_out",))
        assert 2001 < results.region("jump_out").instructions < 3000

    @pytest.mark.parametrize("mode", ["fast", "timed"])
    def test_two_runs_agree_in_everything(self, board: Board, program: Path, mode: Mode) -> None:
        first, second = (run(board, program, "stream", mode=mode, regions=("stream",)) for _ in range(2))
        assert first == second

    def test_memory_that_is_streamed_comes_from_dram(self, board: Board, program: Path) -> None:
        counts = run(board, program, "stream", regions=("stream",)).region("stream")
        first_pass = LINES * 64
        assert counts.dram_read_bytes >= first_pass
        assert counts.events[0x40] == pytest.approx(TURNS * LINES, rel=0.01)  # L1D_CACHE_RD

    def test_every_instruction_is_known(self, board: Board, program: Path) -> None:
        assert run(board, program, "stream").model.undecoded_executed == 0


@pytest.mark.system
class TestThreads:
    def test_waiting_at_a_barrier_costs_what_the_slowest_thread_works(self, board: Board, program: Path) -> None:
        results = run(board, program, "meet", "4", regions=("share",), barriers=("barrier",))
        assert results.unmodeled_threads == 0
        slowest = results.region("share", 3).cycles
        for thread in range(4):
            share, barrier = results.region("share", thread), results.region("barrier", thread)
            assert share.instructions == pytest.approx(TURNS * 20_000 * (thread + 1), rel=0.001)
            assert barrier.instructions == 0
            assert share.cycles + barrier.cycles == pytest.approx(slowest, rel=0.02)

    def test_spinning_is_modeled_where_no_barrier_is_named(self, board: Board, program: Path) -> None:
        named = run(board, program, "meet", "4", barriers=("barrier",)).total.instructions
        assert named == pytest.approx(TURNS * 20_000 * 10, rel=0.2)

    def test_waiting_for_work_costs_nothing_and_the_work_does(self, board: Board, program: Path) -> None:
        results = run(board, program, "idle", regions=(), idle=("wait_for_work",), work=("work",))
        worker = next(part.counts for part in results.threads if part.number != 0)
        assert 2 * 5000 < worker.instructions < 2 * 5000 + 3000

    @pytest.mark.parametrize("mode", ["fast", "timed"])
    def test_four_threads_spread_by_at_most_two_percent(self, board: Board, program: Path, mode: Mode) -> None:
        cycles = [run(board, program, "stream", "4", mode=mode, barriers=("barrier",)).cycles for _ in range(5)]
        assert max(cycles) / min(cycles) <= 1.02

    def test_threads_beyond_the_cores_are_reported(self, board: Board, program: Path) -> None:
        assert run(board, program, "stream", "6", barriers=("barrier",)).unmodeled_threads == 2


class TestRefusals:
    def test_a_file_that_is_no_program(self, tmp_path: Path) -> None:
        text = tmp_path / "text"
        text.write_text("hello")
        with pytest.raises(UserError, match="not an ELF file"):
            read_program(text)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="cannot read"):
            read_program(tmp_path / "nothing")

    @pytest.mark.parametrize(
        ("options", "what"),
        [
            (("-no-pie",), "linked dynamically"),
            (("-static-pie",), "position-independent"),
        ],
    )
    def test_a_program_without_fixed_addresses(self, tmp_path: Path, options: tuple[str, ...], what: str) -> None:
        with pytest.raises(UserError, match=what):
            read_program(build(tmp_path / "program", *options))

    def test_a_symbol_that_is_not_there(self, program: Path) -> None:
        with pytest.raises(UserError, match="no function bariere") as raised:
            read_program(program).address_of("bariere")
        assert "barrier" in raised.value.hint

    def test_a_host_without_the_emulator(
        self, board: Board, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(ToolMissing, match="qemu-aarch64 is not installed") as raised:
            run(board, program, "spin")
        assert "apt install qemu-user" in raised.value.hint

    def test_more_threads_than_cores(self, board: Board, program: Path) -> None:
        with pytest.raises(UserError, match="5 threads cannot be modeled"):
            run_linux(board, [program, "spin"], threads=5)

    @pytest.mark.system
    def test_a_program_that_fails(self, board: Board, program: Path) -> None:
        with pytest.raises(BoardError, match="ended with status 3"):
            run(board, program, "nonsense")


@pytest.mark.system
def test_the_command_prints_a_badge_and_its_tables(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--mode", "fast", "--region", "spin", "--", str(program), "spin"]) == 0
    output = capfd.readouterr().out
    assert "done" in output
    assert "MODELLED" in output
    assert "| spin, thread 0, 1 x |" in output


def test_the_command_ends_with_the_error_s_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--", str(tmp_path / "nothing")]) == 1
    assert "cannot read" in capsys.readouterr().err
