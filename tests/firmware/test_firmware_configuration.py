# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import replace

import pytest

from maxconsole import paths
from maxconsole.boards import Board, Plan, ProfileError, load_board, plan_unbound
from maxconsole.firmware.configuration import board_config, linker_script


def macros(board: Board, plan: Plan) -> dict[str, str]:
    return dict(re.findall(r"^#define (\w+) (.+)$", board_config(board, plan), re.MULTILINE))


def test_the_virtual_board_is_described_as_its_profile_says(board: Board, unbound: Plan) -> None:
    found = macros(board, unbound)
    assert found["BOARD_NAME"] == '"aimax395-virtual"'
    assert found["BOARD_CORE_IDS"] == "{0x0, 0x1, 0x2, 0x3}"
    assert (found["BOARD_PSCI_HVC"], found["BOARD_PSCI_SMC"]) == ("1", "0")
    assert found["BOARD_DEVICE_PAGE"] == "0x83fff000"
    assert found["BOARD_COUNTER_HZ"] == "2400000000"
    assert found["BOARD_PMU_EVENTS"] == "{0x3, 0x4, 0x17, 0x16, 0x24, 0x8}"
    regions = "{{0x8000000, 0x10000}, {0x8010000, 0x10000}, {0x9000000, 0x1000}, {0x83fff000, 0x1000}}"
    assert found["BOARD_DEVICE_REGIONS"] == regions
    assert found["BOARD_DEVICE_REGION_COUNT"] == "4"


def test_a_real_board_has_no_device_page_and_registers_above_4_gb() -> None:
    board = load_board("rpi5")
    found = macros(board, plan_unbound(board))
    assert (found["BOARD_HAS_DEVICE_PAGE"], found["BOARD_MODELLED"]) == ("0", "0")
    assert found["BOARD_UART_BASE"] == "0x107d001000"


def test_a_uart_that_is_the_link_needs_its_interrupt(board: Board, unbound: Plan) -> None:
    by_uart = replace(board, link=replace(board.link, transport="uart"))
    found, usual = macros(by_uart, unbound), macros(board, unbound)
    assert (found["BOARD_LINK_UART"], found["BOARD_UART_INTERRUPT"]) == ("1", "33")
    assert (usual["BOARD_LINK_UART"], usual["BOARD_UART_INTERRUPT"]) == ("0", "0")
    with pytest.raises(ProfileError, match=r"uart\.interrupt is unknown"):
        board_config(replace(by_uart, uart=replace(board.uart, interrupt=None)), unbound)


def test_the_header_does_not_depend_on_the_models_size(board: Board, unbound: Plan) -> None:
    moved = replace(unbound, weight=replace(unbound.weight, size_bytes=2 << 20), kv_cache=unbound.activation)
    assert board_config(board, moved) == board_config(board, unbound)


def test_the_linker_script_has_every_address_of_the_plan(board: Board, unbound: Plan) -> None:
    template = (paths.firmware_dir() / "link.ld.in").read_text("utf-8")
    script = linker_script(template, board, unbound)
    assert "@" not in script
    for place in (unbound.image, *(pool.range for pool in unbound.pools)):
        assert f"ORIGIN = {place.base:#x}, LENGTH = {place.size_bytes:#x}" in script


@pytest.mark.parametrize("template", ["@IMAGE_BASE@", "@CORES@ @UNKNOWN_NAME@"])
def test_placeholders_and_values_must_match(template: str, board: Board, unbound: Plan) -> None:
    with pytest.raises(ValueError, match="placeholders without a match"):
        linker_script(template, board, unbound)
