# SPDX-License-Identifier: Apache-2.0
"""F6: how fast the timed model executes compute-bound code. CPU time, not wall time; of this host."""

from __future__ import annotations

from maxconsole.validation.bench import run_loops
from maxconsole.validation.check import AtLeast, Bench, Check, Group, Outcome, Row
from maxconsole.validation.loop_programs import LOOPS

#: By what they are bound: SDOT, unpacking, integer multiplications, the front end. None with floating point, of which
#: QEMU's emulation alone takes longer than the target allows (FMLA 40 to 65 ns).
_NAMES = ("gemm_sdot_8x8", "int4_unpack", "int_mix", "add_eor")
_INSTRUCTIONS = 30_000_000
_TARGET = 40.0


def run(bench: Bench) -> Outcome:
    rows: list[Row] = []
    instructions, seconds = 0, 0.0
    run_loops(LOOPS[:1], 1)  # builds the plug-in, if it has to be
    for loop in (loop for loop in LOOPS if loop.name in _NAMES):
        bench.note(f"F6: {loop.name}")
        length = loop.assembly.count("\n") - 1
        short = run_loops([loop], 1000)
        long = run_loops([loop], _INSTRUCTIONS // length)
        executed, spent = long.instructions - short.instructions, long.cpu_seconds - short.cpu_seconds
        instructions, seconds = instructions + executed, seconds + spent
        rows.append(Row(loop.name, "MIPS", executed / spent / 1e6, None, ""))
    rows.append(AtLeast("all of them", "MIPS", instructions / seconds / 1e6, _TARGET, "target"))
    return Outcome((Group("guest instructions per second of CPU time", tuple(rows)),))


CHECK = Check("F6", "speed of the timed model", run)
