# SPDX-License-Identifier: Apache-2.0
"""The timed memory hierarchy on access patterns whose cost is known, without an emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from model_program import build_with_model

from maxconsole.boards import load_board
from maxconsole.virtual.plugin import model_arguments

KIB, MIB, LINE = 1 << 10, 1 << 20, 64
PAGE_AND_LINE = 4096 + 64  # so that lines of different pages do not share a set
READ, WRITE, COPY = 0, 1, 2
HZ = 2_400_000_000
Run = Callable[..., dict[str, float]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hierarchy")
    return build_with_model(Path(__file__).parent / "hierarchy_program.c", folder / "hierarchy")


@pytest.fixture(scope="module")
def run(program: Path) -> Run:
    """Runs a pattern of hierarchy_program.c on the Raspberry Pi 5's hierarchy; what it prints, by name."""
    place = {"ram": "none", "ram_base": "0x40000000", "ram_bytes": "0x80000000", "device_page": "0x403ff000"}
    fixed = {**model_arguments(load_board("rpi5-virtual")), **place, "mode": "timed"}

    def one(*pattern: object, **changed: object) -> dict[str, float]:
        arguments = {**fixed, **changed}
        options = [f"{key}={value}" for key, value in arguments.items()]
        command = [program, *options, *map(str, pattern)]
        told = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout
        return {name: float(value) for name, value in (line.split() for line in told.splitlines())}

    return one


@pytest.mark.parametrize(
    ("bytes_", "cycles"), [(32 * KIB, 4), (256 * KIB, 12), (MIB, 41), (32 * MIB, 281)], ids=["L1D", "L2", "L3", "DRAM"]
)
def test_a_chain_of_loads_costs_the_latency_of_where_its_data_are(run: Run, bytes_: int, cycles: int) -> None:
    assert run("chase", bytes_, LINE)["cycles_per_load"] == pytest.approx(cycles, rel=0.01)


def test_beyond_the_first_tlb_a_hit_in_the_second_is_added(run: Run) -> None:
    # 64 pages of 4 KB, of which 48 fit: round robin replacement keeps none of them until it is needed again.
    told = run("chase", 64 * PAGE_AND_LINE, PAGE_AND_LINE, page_bytes=4096)
    assert told["cycles_per_load"] == pytest.approx(4 + 3, abs=0.5)
    assert told["walks_per_load"] == 0


def test_beyond_the_second_tlb_tables_are_walked(run: Run) -> None:
    small = run("chase", 2048 * PAGE_AND_LINE, PAGE_AND_LINE, page_bytes=4096)
    large = run("chase", 2048 * PAGE_AND_LINE, PAGE_AND_LINE)
    assert small["walks_per_load"] > 0.9
    assert small["cycles_per_load"] - large["cycles_per_load"] == pytest.approx(3 + 20, rel=0.1)


def test_independent_misses_overlap_as_far_as_the_miss_registers_go(run: Run) -> None:
    for registers in (4, 10):
        cycles = run("scattered", 20000, outstanding_misses=registers)["cycles_per_load"]
        assert cycles == pytest.approx(281 / registers, rel=0.05)


def test_a_stream_is_read_at_the_bandwidth_of_one_core(run: Run) -> None:
    told = run("stream", READ, 32 * MIB, 1, 32)
    assert 32 * MIB / told["cycles"] * HZ == pytest.approx(13.8e9, rel=0.01)
    assert told["l1d_refill"] < 10  # what the prefetcher brought is no refill
    assert told["dram_reads"] == pytest.approx(32 * MIB / LINE, rel=0.001)


def test_a_slower_stream_does_not_wait(run: Run) -> None:
    told = run("stream", READ, 8 * MIB, 20, 32)  # 40 cycles a line; the bus needs 11
    assert told["cycles"] == pytest.approx(8 * MIB / 32 * 20, rel=0.001)


def test_a_prefetch_that_the_bus_cannot_deliver_in_time_is_waited_for(run: Run) -> None:
    slow = run("stream", READ, 8 * MIB, 20, 32, dram_read=2_400_000_000)  # 64 cycles a line
    assert slow["cycles"] == pytest.approx(8 * MIB / LINE * 64, rel=0.01)


def test_whole_lines_are_written_without_being_read(run: Run) -> None:
    told = run("stream", WRITE, 32 * MIB, 1, 32)
    assert told["dram_reads"] < 10
    assert 32 * MIB / told["cycles"] * HZ == pytest.approx(9.99e9, rel=0.1)


def test_lines_written_in_part_are_read_first(run: Run) -> None:
    told = run("stream", WRITE, 8 * MIB, 1, 16)
    assert told["dram_reads"] == pytest.approx(8 * MIB / LINE, rel=0.001)


@pytest.mark.parametrize("kind", [READ, WRITE, COPY])
def test_cores_that_run_together_do_not_depend_on_the_order_in_which_the_host_runs_them(run: Run, kind: int) -> None:
    assert run("together", kind, 2 * MIB, 4, 0) == run("together", kind, 2 * MIB, 4, 1)


@pytest.mark.parametrize(("cores", "rate"), [(1, 13.8e9), (2, 12.6e9), (4, 10.7e9)])
def test_cores_that_read_together_get_what_the_profile_says(run: Run, cores: int, rate: float) -> None:
    told = run("together", READ, 16 * MIB, cores, 0)
    last = max(told[f"ticks{core}"] for core in range(cores)) / 48
    assert cores * 16 * MIB / last * HZ == pytest.approx(rate, rel=0.02)


def test_a_core_that_runs_alone_is_not_delayed_by_the_weave(run: Run) -> None:
    alone = run("stream", READ, 4 * MIB, 1, 32)["cycles"]
    among_others = run("together", READ, 4 * MIB, 1, 0)
    assert among_others["cycles"] == alone
    assert run("alone_among", 4 * MIB, 4)["cycles"] == alone


def test_what_another_core_has_written_is_missed_after_the_barrier(run: Run) -> None:
    lines = 32 * KIB / LINE
    told = run("coherence", 32 * KIB)
    assert told["both_hold"] == 0
    assert told["write_held"] == 0
    assert told["read_after_write"] >= lines
    assert told["writer_reads_again"] == 0
    assert told["read_after_second_write"] >= lines


def test_what_another_core_holds_comes_from_it_and_not_from_memory(run: Run) -> None:
    told = run("coherence", 32 * KIB)
    assert told["dram_after_write"] < 64  # the prefetcher runs beyond the end


# 13.8 GB/s for the NPU alone; the cores' own figures are the Raspberry Pi 5's.
NPU = {"npu": f"0x90000000:0x4000000:2000:{13_800_000_000}:{6_000_000_000_000}:{3_000_000_000_000}"}


def test_a_job_of_the_npu_with_the_bus_for_itself_takes_what_its_bytes_or_its_arithmetic_take(run: Run) -> None:
    few_rows = run("beside_npu", 1, 512, 0, 0, **NPU)
    assert few_rows["npu_begin"] == 2000
    read = few_rows["npu_bytes"] * HZ / 13.8e9
    assert few_rows["npu_end"] - 2000 == pytest.approx(read, rel=0.02)
    assert few_rows["npu_mac_cycles"] < read
    no_bus = {"npu": "0x90000000:0x4000000:2000:13800000000:60000000000:3000000000000"}  # a hundredth of the rate
    slow = run("beside_npu", 64, 8, 0, 0, **no_bus)
    assert slow["npu_mac_cycles"] == pytest.approx(64 * 512 * 8 * 16 * HZ / 60e9, rel=1e-4)
    assert slow["npu_end"] - slow["npu_begin"] == pytest.approx(slow["npu_mac_cycles"], rel=0.01)


def test_the_npu_and_the_cores_share_the_bus(run: Run) -> None:
    core_bytes = 4 * MIB
    cores_alone = run("beside_npu", 0, 0, core_bytes, 0, **NPU)["cycles"]
    npu_alone = run("beside_npu", 1, 1024, 0, 0, **NPU)
    both = run("beside_npu", 1, 1024, core_bytes, 0, **NPU)
    assert both["npu_ended"] == 1
    assert both["npu_end"] > 1.5 * npu_alone["npu_end"]
    assert both["cycles"] > 1.1 * cores_alone
    moved = 4 * core_bytes + both["npu_bytes"]
    assert moved / both["cycles"] * HZ == pytest.approx(10.7e9, rel=0.04)


def test_what_the_npu_costs_does_not_depend_on_the_order_in_which_the_host_runs_the_cores(run: Run) -> None:
    assert run("beside_npu", 32, 256, 2 * MIB, 0, **NPU) == run("beside_npu", 32, 256, 2 * MIB, 1, **NPU)


def test_a_core_that_waits_for_the_npu_anyway_does_not_pay_twice_for_the_bus(run: Run) -> None:
    told = run("beside_npu", 8, 2048, 64 * KIB, 0, **NPU)
    assert told["cycles"] == pytest.approx(told["npu_end"], abs=1)


def test_without_jobs_an_npu_changes_nothing(run: Run) -> None:
    assert run("together", COPY, MIB, 4, 0, **NPU) == run("together", COPY, MIB, 4, 0)


@pytest.mark.parametrize("kind", [READ, WRITE])
def test_what_passes_through_transient_memory_leaves_the_rest_of_l2_alone(run: Run, kind: int) -> None:
    kept, passing = 256 * KIB, 512 * KIB
    elsewhere = hex(0x5000_0000 + (1 << 28))
    displaced = run("pass_by", kind, kept, passing)
    left_alone = run("pass_by", kind, kept, passing, transient=f"{elsewhere}:{hex(passing)}")
    assert displaced["kept_into_l2"] > 0.9 * kept / LINE
    assert left_alone["kept_into_l2"] < 0.1 * kept / LINE
    # L3 holds both, but does not take what is transient.
    assert displaced["round_from_dram"] == 0
    assert left_alone["round_from_dram"] == pytest.approx(passing / LINE if kind == READ else 0, rel=0.1)
