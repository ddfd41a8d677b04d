# SPDX-License-Identifier: Apache-2.0
"""Tables, numbers with units, prompts and progress lines."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from maxconsole.cli import progress, prompts, style
from maxconsole.errors import UserError


def test_tables_align_by_terminal_columns() -> None:
    assert style.table(("name", "n"), [("世界", "1"), ("é", "22")]) == [
        "name   n",
        "----  --",
        "世界   1",
        "é     22",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (style.count(1234567), "1 234 567"),
        (style.quantity(2.4e9, "Hz"), "2.4 GHz"),
        (style.quantity(999, "B/s"), "999 B/s"),
        (style.size(64 << 10), "64 KiB"),
        (style.size(98_362_432), "93.8 MiB"),
        (style.size(3), "3 bytes"),
        (style.percent(0.125), "12.5"),
        (style.percent(None), "-"),
        (style.fixed(None), "-"),
        (style.duration(0.213), "0.21 s"),
        (style.duration(123.4), "2 min 03 s"),
    ],
)
def test_numbers_have_units(text: str, expected: str) -> None:
    assert text == expected


def test_emphasis_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert style.emphasized("x", Terminal(), color=31) == "\x1b[1;31mx\x1b[0m"
    assert style.emphasized("x", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert style.emphasized("x", Terminal()) == "x"


def test_a_prompt_may_be_argument_and_file(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("the notes\n")
    assert prompts.prompt_text("Sum up:", str(file), chat=False) == "Sum up:\n\nthe notes\n"
    assert prompts.prompt_text(None, str(file), chat=False) == "the notes\n"


def test_stdin_is_the_prompt_when_it_is_not_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("grüße".encode())))
    assert prompts.prompt_text(None, None, chat=False) == "grüße"


def test_a_prompt_that_is_missing_or_no_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"  \n")))
    with pytest.raises(UserError, match="there is no prompt"):
        prompts.prompt_text(None, None, chat=False)
    binary = tmp_path / "binary"
    binary.write_bytes(b"abc\xff\x00")
    with pytest.raises(UserError, match=r"not UTF-8 text: .* at byte 3"):
        prompts.prompt_text(None, str(binary), chat=False)
    with pytest.raises(UserError, match="No such file"):
        prompts.prompt_text(None, str(tmp_path / "nothing"), chat=False)
    with pytest.raises(UserError, match="turns from stdin"):
        prompts.prompt_text(None, "-", chat=True)


def test_a_chat_reads_turns_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\n\n  \ntwo"))
    assert list(prompts.turns("zero")) == ["zero", "one", "two"]


def test_progress_without_a_terminal_is_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = progress.reporter()
    with reporter:
        reporter("build", 0, 2, "a.c")
        reporter._started -= 3  # type: ignore[attr-defined]
        reporter("build", 2, 2)
        reporter("pack", 1, 1)
    assert capsys.readouterr().err == "build: done in 3.00 s\n"


def test_progress_can_be_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.reporter(silent=True) as reporter:
        reporter("build", 0, 2)
        reporter("build", 2, 2)
    assert capsys.readouterr().err == ""
