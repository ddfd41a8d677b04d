# SPDX-License-Identifier: Apache-2.0
"""Shipped profiles, and profiles that break a rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxconsole import paths
from maxconsole.boards import Board, ProfileError, list_boards, load_board, profile_texts
from maxconsole.boards.rules import device_regions, leaves
from maxconsole.errors import UserError


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path)


class Profile:
    """A profile of the user's own, laid over a shipped one."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "mine.toml"

    def load(self, text: str, base: str = "aimax395-virtual") -> Board:
        self.file.write_text(f'extends = "{base}"\nname = "mine"\n{text}')
        return load_board(self.file)

    def refuse(self, text: str, base: str = "aimax395-virtual") -> str:
        with pytest.raises(ProfileError) as caught:
            self.load(text, base)
        message = str(caught.value)
        assert message.startswith(str(self.file))
        return message


def test_the_shipped_boards_are_these() -> None:
    assert list_boards() == ("aimax395", "aimax395-virtual", "rpi5", "rpi5-virtual")


@pytest.mark.parametrize("name", list_boards())
def test_every_value_of_a_shipped_board_says_where_it_comes_from(name: str) -> None:
    board = load_board(name)
    described = ("name", "title", "summary", "hal", "npu", "virtual", "caches.l3")
    for key, _ in leaves(board):
        if key not in described:
            assert board.origin(key).source != "the profile names no source", key


def test_the_texts_of_a_profile_are_its_own_and_those_that_it_extends(profile: Profile) -> None:
    texts = profile_texts(profile.load("", base="rpi5-virtual"))
    assert list(texts) == ["mine.toml", "rpi5-virtual.toml", "rpi5.toml"]
    assert texts["rpi5.toml"] == (paths.profiles_dir() / "boards" / "rpi5.toml").read_text("utf-8")


def test_two_profiles_of_the_same_name_are_both_there(tmp_path: Path) -> None:
    file = tmp_path / "rpi5.toml"
    file.write_text('extends = "rpi5"\n')
    assert list(profile_texts(load_board(file))) == ["rpi5.toml", "base-rpi5.toml"]


def test_the_default_board_has_the_reports_memory_map() -> None:
    board = load_board()
    assert board.name == "aimax395-virtual"
    assert [(r.base, r.end) for r in board.memory.usable] == [
        (0x8400_0000, 0x9000_0000),
        (0x9400_0000, 0xA000_0000),
    ]
    assert board.caches.l3 is None
    assert board.caches.l2.sets == 1024


def test_a_virtual_board_has_the_caches_and_memory_timing_of_the_real_one() -> None:
    real, virtual = load_board("rpi5"), load_board("rpi5-virtual")
    assert virtual.caches == real.caches
    assert virtual.dram == real.dram
    assert virtual.caches.l3 is not None
    assert virtual.caches.l3.size_bytes == 2 << 20


def test_unknown_facts_of_the_module_are_named_when_something_needs_them() -> None:
    board = load_board("aimax395")
    with pytest.raises(ProfileError, match=r"aimax395\.toml: uart\.base is unknown") as caught:
        board.need("uart.base", board.uart.base)
    assert 'extends = "aimax395"' in caught.value.hint


def test_an_owner_fills_in_what_the_shipped_profile_leaves_unknown(profile: Profile) -> None:
    board = profile.load(
        '[uart]\nbase = 0x0a00_0000\n[provenance]\n"uart.base" = { status = "documented", source = "data sheet" }\n',
        base="aimax395",
    )
    assert board.uart.base == 0x0A00_0000
    assert board.origin("uart.base").source == "data sheet"
    assert board.origin("uart.clock_hz").status == "unknown"


def test_the_closest_provenance_counts() -> None:
    board = load_board("rpi5")
    assert board.origin("caches.l2.latency_cycles").status == "measured"
    assert board.origin("caches.l2.size_bytes").status == "documented"


def test_register_blocks_are_listed_for_the_mmu() -> None:
    regions = device_regions(load_board("rpi5"))
    assert [region.name for region in regions] == ["uart.base", "gic.distributor", "gic.cpu_interface"]


@pytest.mark.parametrize(
    ("text", "key", "rule"),
    [
        ("[cpu]\ncores = 0\n", "cpu.cores = 0", "positive"),
        ("[cpu]\ncores = 5\n", "cpu.cores = 5", "at most 4"),
        ("[cpu]\ndecode_cores = 0\n", "cpu.decode_cores = 0", "positive"),
        ("[cpu]\ncores = true\n", "cpu.cores = true", "an integer"),
        ('[cpu]\ncores = "four"\n', "cpu.cores = 'four'", "an integer"),
        ("[cpu]\nclock_mhz = 2400\n", "cpu.clock_mhz", "unknown key"),
        ('[boot]\npsci = "svc"\n', "boot.psci = 'svc'", "'hvc', 'smc'"),
        ("[boot]\ncore_ids = [0, 1, 1, 2]\n", "boot.core_ids", "4 different numbers"),
        ("[caches.l2]\nsize_bytes = 500_000\n", "caches.l2.size_bytes", "power of two"),
        ("[caches.l1d]\nline_bytes = 48\n", "caches.l1d.line_bytes = 48", "a power of two"),
        ("[dram]\neffective_bytes_per_s = 18_000_000_000\n", "dram.effective_bytes_per_s", "peak_bytes_per_s"),
        ("[dram]\nlatency_ns = -1.0\n", "dram.latency_ns = -1.0", "positive"),
        ("[memory]\nram = []\n", "memory.ram", "at least one range"),
        ("[memory]\nram = [{ base = 0x8000_0001, size_bytes = 0x2000_0000 }]\n", "memory.ram[0]", "4096"),
        ("[memory]\nram = [{ base = 0x8000_0000, size_bytes = 0 }]\n", "memory.ram[0]", "positive"),
        ("[memory]\nram = [{ base = 0xff_f000_0000, size_bytes = 0x2000_0000 }]\n", "memory.ram[0]", "below 2^40"),
        ("[memory]\nimage_bytes = 0x10_0000\n", "memory.image_bytes = 0x100000", "2097152"),
        ("[uart]\nbase = 0x8500_0000\n", "uart.base = 0x85000000", "must not lie in memory.ram"),
        ("[uart]\nbase = 0x0900_0010\n", "uart.base = 0x9000010", "4096"),
        ("[gic]\ndistributor = 0x0900_0000\n", "gic", "overlap"),
        ("[virtual]\ndevice_page = 0x8400_0000\n", "virtual.device_page", "reserved range"),
        ("[virtual]\ndevice_page = 0x1000_0000\n", "virtual.device_page", "emulated machine's RAM"),
        ("[virtual]\nram_bytes = 0x5000_0000\n", "virtual.ram_bytes", "must cover memory.ram"),
        ('[npu]\ncarve_out = "NPU"\n', "npu.carve_out = 'NPU'", "no range of this name"),
        ("[link]\nrtt_up_bytes = 1024\n", "link.rtt_up_bytes = 1024", "4 frames"),
        ('[pmu]\nevents = [{ name = "CPU_CYCLES", number = 0x11 }]\n', "pmu.events", "6 events"),
        ('[provenance]\n"cpu.speed" = { status = "measured", source = "x" }\n', "provenance.cpu.speed", "no such key"),
        ('[provenance]\n"cpu.cores" = { status = "unknown", source = "x" }\n', "provenance.cpu.cores", "has a value"),
        ('[provenance]\ncpu = { status = "guessed", source = "x" }\n', "provenance.cpu.status", "'documented'"),
        ('[provenance]\n"npu.base" = { status = "assumed", source = "x" }\n', "npu.base", "missing"),
        ("[uart\n", "", "not a TOML file"),
        ("npu = 3\n", "npu = 3", "a table"),
    ],
)
def test_a_broken_rule_names_file_key_value_and_rule(profile: Profile, text: str, key: str, rule: str) -> None:
    message = profile.refuse(text)
    assert key in message
    assert rule in message


def test_overlapping_reserved_ranges_and_carve_outs_are_refused(profile: Profile) -> None:
    text = '[memory]\ncarve_outs = [{ name = "NPU_MEM", base = 0x83f0_0000, size_bytes = 0x20_0000 }]\n'
    assert "boot ROM 0x80000000..0x84000000 and NPU_MEM 0x83f00000..0x84100000 overlap" in profile.refuse(text)


def test_overlapping_ram_is_refused(profile: Profile) -> None:
    ranges = "{ base = 0x8000_0000, size_bytes = 0x2000_0000 }, { base = 0x9fff_f000, size_bytes = 0x1000 }"
    assert "overlap" in profile.refuse(f"[memory]\nram = [{ranges}]\n")


def test_a_carve_out_outside_the_ram_is_refused(profile: Profile) -> None:
    text = '[memory]\ncarve_outs = [{ name = "NPU_MEM", base = 0x7000_0000, size_bytes = 0x1000 }]\n'
    assert "must lie inside one range of memory.ram" in profile.refuse(text)


def test_a_misspelt_key_gets_a_suggestion(profile: Profile) -> None:
    assert "did you mean clock_hz?" in profile.refuse("[cpu]\nclok_hz = 1\n")


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    file = tmp_path / "bare.toml"
    file.write_text('name = "bare"\n')
    with pytest.raises(ProfileError, match="title: it is missing"):
        load_board(file)


def test_the_name_must_be_the_files_name(tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text('extends = "rpi5"\n')
    with pytest.raises(ProfileError, match="name = 'rpi5': it must be the file's name, 'other'"):
        load_board(file)


def test_a_profile_may_extend_one_that_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text('extends = "rpi5-virtual"\nname = "first"\n[cpu]\nclock_hz = 1_000_000_000\n')
    (tmp_path / "second.toml").write_text('extends = "first.toml"\nname = "second"\n')
    assert load_board(tmp_path / "second.toml").cpu.clock_hz == 1_000_000_000


def test_profiles_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('extends = "two.toml"\nname = "one"\n')
    (tmp_path / "two.toml").write_text('extends = "one.toml"\nname = "two"\n')
    with pytest.raises(ProfileError, match="in a circle"):
        load_board(tmp_path / "one.toml")


def test_an_unknown_board_gets_a_suggestion() -> None:
    with pytest.raises(UserError, match="no board named 'rpi5-virtal'") as caught:
        load_board("rpi5-virtal")
    assert caught.value.hint == "did you mean rpi5-virtual?"
    with pytest.raises(UserError, match="no board profile") as caught:
        load_board("missing.toml")
    assert "aimax395-virtual" in caught.value.hint


VALUES = st.recursive(
    st.one_of(st.integers(-5, 1 << 45), st.booleans(), st.text(max_size=5), st.floats(allow_nan=False)),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
KEYS = sorted(re.findall(r"^(\w+) = ", (paths.profiles_dir() / "boards/rpi5.toml").read_text("utf-8"), re.MULTILINE))
TABLES = [
    "cpu",
    "caches.l1d",
    "tlb",
    "dram",
    "memory",
    "uart",
    "gic",
    "pmu",
    "boot",
    "probe",
    "flash",
    "link",
    "virtual",
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(TABLES), st.sampled_from(KEYS), VALUES)
def test_any_value_is_accepted_or_refused_with_a_message(profile: Profile, table: str, key: str, value: object) -> None:
    shown = str(value).lower() if isinstance(value, bool) else None
    text = shown or (repr(value) if not isinstance(value, str) else f'"{"".join(filter(str.isalnum, value))}"')
    try:
        profile.load(f"[{table}]\n{key} = {text}\n".replace("True", "true").replace("False", "false"))
    except ProfileError as error:
        assert str(profile.file) in str(error)  # noqa: PT017  # either outcome is right
