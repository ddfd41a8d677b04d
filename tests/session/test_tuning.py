# SPDX-License-Identifier: Apache-2.0
"""Tuning profiles, and the search that makes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf_files import write_model

from maxconsole.errors import UserError
from maxconsole.session.session import Session
from maxconsole.session.setup import Setup
from maxconsole.session.speed import Workload
from maxconsole.session.tuner import Trial, best, finished, open_study, response, tune
from maxconsole.session.tuning import Tuning, read_tuning, with_tuning, write_tuning

TUNING = Tuning(batch=128, prefill_cores=4, decode_cores=2)


def test_a_profile_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    write_tuning(path, TUNING, {"model": 'with "quotes" and \\', "cycles": 12})
    assert read_tuning(path) == TUNING
    assert [one.name for one in tmp_path.iterdir()] == ["t.toml"]


def test_a_profile_changes_the_setup_but_not_what_the_user_has_chosen(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    write_tuning(path, TUNING, {})
    tuned = with_tuning(Setup(batch=64), path)
    assert (tuned.batch, tuned.cores, tuned.decode_cores) == (128, 4, 2)
    assert with_tuning(Setup(cores=1), path) == Setup(cores=1, batch=128)
    assert with_tuning(Setup(), None) == Setup()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no tuning profile"),
        ("[settings]\nbatch = 1", "prefill_cores"),
        ("[settings]\nbatch = 0\nprefill_cores = 1\ndecode_cores = 1", "batch is 0"),
        ("[settings]\nbatch = true\nprefill_cores = 1\ndecode_cores = 1", "batch is True"),
        ('[settings]\nbatch = 8\nprefill_cores = 1\ndecode_cores = "2"', "decode_cores is '2'"),
        ("settings = 3", "no tuning profile"),
        ("[settings", "no tuning profile"),
    ],
)
def test_what_is_wrong_with_a_profile_is_said(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "t.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=complaint) as caught:
        read_tuning(path)
    assert str(path) in caught.value.what


def test_a_profile_that_is_missing_or_cannot_be_written_is_a_plain_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_tuning(tmp_path / "none.toml")
    with pytest.raises(UserError, match="cannot be written"):
        write_tuning(tmp_path / "none" / "t.toml", TUNING, {})


def test_the_best_trial_and_the_response_to_each_setting() -> None:
    trials = (
        Trial(0, Tuning(16, 1, 1), 900, 100),
        Trial(1, Tuning(64, 4, 1), 300, 100),
        Trial(2, Tuning(64, 2, 2), 500, 60),
    )
    assert best(trials).number == 1
    assert response(trials) == {
        "batch": {16: 900, 64: 300},
        "prefill_cores": {1: 900, 2: 500, 4: 300},
        "decode_cores": {1: 100, 2: 60},
    }


def test_a_database_that_cannot_be_used_is_a_plain_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be used"):
        open_study("s", f"sqlite:///{tmp_path}/none/s.db")


@pytest.mark.system
def test_a_search_measures_and_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXCONSOLE_CACHE", str(tmp_path / "cache"))
    model = write_model(tmp_path / "tiny.gguf", hidden=256, heads=4, kv_heads=2, ffn=512, layers=2)
    storage = f"sqlite:///{tmp_path}/s.db"
    workload = Workload("tune", 32, 3)
    with Session.open(Setup(model=str(model), batch=32, timing="fast")) as session:
        first = tune(session, open_study("s", storage), workload, 3)
        assert len(first) == 3
        assert all(trial.prefill_cycles > 0 and trial.decode_cycles > 0 for trial in first)
        assert {trial.tuning.batch for trial in first} <= {16, 32}
        again = tune(session, open_study("s", storage), workload, 4)
    assert again[:3] == first
    assert len(finished(open_study("s", storage))) == 4
