# SPDX-License-Identifier: Apache-2.0
"""Messages as the tools wrote them, word for word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maxconsole.firmware.diagnostics import CompileError, Diagnostic, parse_compiler, parse_linker

GCC = """\
firmware/kernels/add.c: In function 'add':
firmware/kernels/add.c:6:1: error: expected ')' before '}' token
    6 | }
      | ^
firmware/kernels/add.c:5:20: note: to match this '('
    5 |     return a + b * (STEP
      |                    ^
firmware/kernels/gone.c:2:10: fatal error: kernels/nofile.h: No such file or directory
compilation terminated.
firmware/arch/start.S: Assembler messages:
firmware/arch/start.S:7: Error: unknown mnemonic `blx' -- `blx main'
"""

CLANG = """\
firmware/arch/start.S:7:9: error: unrecognized instruction mnemonic, did you mean: b, bl, blr?
        blx main
        ^
1 error generated.
"""

GNU_LD = """\
/usr/lib/gcc-cross/aarch64-linux-gnu/12/../../../aarch64-linux-gnu/bin/ld: firmware/engine/main.c: in function `main':
./firmware/engine/main.c:7: undefined reference to `nowhere'
./firmware/engine/main.c:7:(.text.startup.main+0x14): relocation truncated to fit: R_AARCH64_CALL26 against undefined \
symbol `nowhere'
/usr/bin/aarch64-linux-gnu-ld: region `IMAGE' overflowed by 7905280 bytes
collect2: error: ld returned 1 exit status
"""

LLD = """\
ld.lld: error: undefined symbol: nowhere
>>> referenced by main.c:7 (./firmware/engine/main.c:7)
>>>               firmware/engine/main.c:(main)
>>> referenced by main.c:7 (./firmware/engine/main.c:7)
"""


def test_gcc_and_its_assembler() -> None:
    assert parse_compiler(GCC) == (
        Diagnostic("firmware/kernels/add.c", 6, 1, "error", "expected ')' before '}' token"),
        Diagnostic("firmware/kernels/add.c", 5, 20, "note", "to match this '('"),
        Diagnostic("firmware/kernels/gone.c", 2, 10, "error", "kernels/nofile.h: No such file or directory"),
        Diagnostic("firmware/arch/start.S", 7, 0, "error", "unknown mnemonic `blx' -- `blx main'"),
    )


def test_clang() -> None:
    (only,) = parse_compiler(CLANG)
    assert (only.file, only.line, only.column, only.severity) == ("firmware/arch/start.S", 7, 9, "error")


def test_gnu_ld_without_its_repetitions() -> None:
    assert parse_linker(GNU_LD) == (
        Diagnostic("firmware/engine/main.c", 7, 0, "error", "undefined reference to `nowhere'"),
        Diagnostic("", 0, 0, "error", "region `IMAGE' overflowed by 7905280 bytes"),
    )


def test_lld_with_the_place_of_the_reference() -> None:
    assert parse_linker(LLD) == (
        Diagnostic("", 0, 0, "error", "undefined symbol: nowhere"),
        Diagnostic("firmware/engine/main.c", 7, 0, "note", "referenced here"),
    )


def test_a_long_list_is_cut_and_says_so() -> None:
    many = tuple(Diagnostic("a.c", line, 1, "error", "bad") for line in range(1, 31))
    text = str(CompileError("it does not compile", many, ""))
    assert text.startswith("it does not compile: 30 errors\n")
    assert text.endswith("and 10 more")


def test_messages_that_are_not_understood_are_shown_as_they_are() -> None:
    assert "killed by the system" in str(CompileError("it does not compile", (), "cc1: killed by the system\n"))


@given(st.text())
def test_any_text_can_be_parsed(text: str) -> None:
    parse_compiler(text)
    parse_linker(text)
