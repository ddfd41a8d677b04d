# SPDX-License-Identifier: Apache-2.0
"""Searches for the settings with which a prompt and its answer take the fewest cycles, with Optuna.

One board serves all trials: batch and cores are settings of the running firmware. A study in a database goes on
where it was left, and several machines can share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maxconsole.errors import ToolMissing, UserError
from maxconsole.schema import wire
from maxconsole.session.progress import Progress, silent
from maxconsole.session.session import Session
from maxconsole.session.speed import Workload, measure
from maxconsole.session.tuning import Tuning

if TYPE_CHECKING:
    from optuna.study import Study

_SEED = 76
_BATCHES = (16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class Trial:
    """What one choice of settings cost: cycles of the whole prompt, and of all steps of the answer."""

    number: int
    tuning: Tuning
    prefill_cycles: int
    decode_cycles: int

    @property
    def cycles(self) -> int:
        return self.prefill_cycles + self.decode_cycles


def open_study(name: str, storage: str) -> Study:
    """Raises ToolMissing without Optuna, UserError for a database that cannot be used."""
    try:
        import optuna  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise ToolMissing("tuning needs the package optuna", hint="pip install 'maxconsole[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=_SEED, n_startup_trials=8)
    try:
        return optuna.create_study(storage=storage, sampler=sampler, study_name=name, load_if_exists=True)
    except Exception as error:  # SQLAlchemy's and its drivers' kinds are many
        raise UserError(f"the study's database {storage} cannot be used: {error}") from error


def tune(
    session: Session, study: Study, workload: Workload, trials: int, progress: Progress = silent
) -> tuple[Trial, ...]:
    """Adds trials to the study until it has so many; all of them, those of earlier runs included.

    Raises what the session raises, and what `progress` raises; trials that have ended stay in the study.
    """
    largest = min(session.hello.max_batch, max(_BATCHES[0], workload.prompt_tokens))
    batches = [batch for batch in _BATCHES if batch <= largest]
    tried = {trial.tuning: trial for trial in finished(study)}
    while len(done := finished(study)) < trials:
        progress("tune", len(done), trials)
        asked = study.ask()
        tuning = Tuning(
            batch=asked.suggest_categorical("batch", batches),
            prefill_cores=asked.suggest_int("prefill_cores", 1, session.hello.cores),
            decode_cores=asked.suggest_int("decode_cores", 1, session.hello.cores),
        )
        found = tried.get(tuning)
        cycles = (found.prefill_cycles, found.decode_cycles) if found else _measure(session, tuning, workload, progress)
        asked.set_user_attr("prefill_cycles", cycles[0])
        asked.set_user_attr("decode_cycles", cycles[1])
        study.tell(asked, float(sum(cycles)))
        tried[tuning] = Trial(asked.number, tuning, *cycles)
    return finished(study)


def _measure(session: Session, tuning: Tuning, workload: Workload, progress: Progress) -> tuple[int, int]:
    use(session, tuning)
    (answer,) = measure(session, workload, 1, progress).answers
    return answer.prefill_cycles, answer.decode_cycles


def use(session: Session, tuning: Tuning) -> None:
    """Lets the running board work with these settings."""
    for setting, value in (
        (wire.Setting.BATCH, tuning.batch),
        (wire.Setting.PREFILL_CORES, tuning.prefill_cores),
        (wire.Setting.DECODE_CORES, tuning.decode_cores),
    ):
        session.link.request(wire.Set(setting=setting, value=value))


def finished(study: Study) -> tuple[Trial, ...]:
    """The trials that have a result, in their order."""
    return tuple(
        Trial(
            one.number,
            Tuning(**one.params),
            int(one.user_attrs["prefill_cycles"]),
            int(one.user_attrs["decode_cycles"]),
        )
        for one in study.get_trials(deepcopy=False)
        if one.value is not None
    )


def best(trials: tuple[Trial, ...]) -> Trial:
    """The first of those with the fewest cycles."""
    return min(trials, key=lambda trial: trial.cycles)


def response(trials: tuple[Trial, ...]) -> Mapping[str, Mapping[int, int]]:
    """By setting and value, the fewest cycles that any trial with this value took of the phase that it decides."""
    curves: dict[str, dict[int, int]] = {"batch": {}, "prefill_cores": {}, "decode_cores": {}}
    for trial in trials:
        for name, curve in curves.items():
            cycles = trial.decode_cycles if name == "decode_cores" else trial.prefill_cycles
            value = getattr(trial.tuning, name)
            curve[value] = min(cycles, curve.get(value, cycles))
    return {name: dict(sorted(curve.items())) for name, curve in curves.items()}
