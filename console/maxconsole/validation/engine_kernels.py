# SPDX-License-Identifier: Apache-2.0
"""E1: the int8 GEMM against its own static bound, and the bound against the peak, by checkasm."""

from __future__ import annotations

from maxconsole.session.checkasm import run_checkasm
from maxconsole.telemetry.bounds import PEAK_MACS
from maxconsole.validation.check import AtLeast, Bench, Check, Group, Outcome, Row
from maxconsole.validation.engine_runs import BOARD

_KERNELS = ("gemm_int8_576", "gemm_int8_1536")


def _run(bench: Bench) -> Outcome:
    bench.note("running checkasm")
    checks = {check.name: check for check in run_checkasm(BOARD, only="gemm_int8").checks}
    rows: list[Row] = []
    for name in _KERNELS:
        check = checks[name]
        rows.append(
            AtLeast(f"{name}: bound", "% of peak", 100 * check.work / (PEAK_MACS * check.bound_cycles), 85, "target")
        )
        rows.append(AtLeast(f"{name}: measured", "% of bound", 100 * check.bound_cycles / check.cycles, 97, "target"))
    return Outcome(
        (Group("128 rows, 16 columns", tuple(rows)),), ("Warm caches; the bound is what the busiest pipe needs.",)
    )


CHECK = Check("E1", "int8 GEMM at the granularity that E11 passes with", _run)
