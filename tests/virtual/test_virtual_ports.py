# SPDX-License-Identifier: Apache-2.0
"""Port bounds of loops, against figures from elsewhere: a check of firmware/virtual/a64_classes.h, not of silicon.

N1: "Block RThroughput" of llvm-mca 19.1.7 -mcpu=neoverse-n1 -dispatch=4. SOG: Cortex-A76 Software Optimization Guide.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from decoder_program import build_decoder

Bound = Callable[[str], float]


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> Bound:
    """The model's cycles for a piece of assembly."""
    folder = tmp_path_factory.mktemp("ports")
    program = build_decoder(folder)

    def cycles(assembly: str) -> float:
        source, code = folder / "loop.s", folder / "loop.bin"
        source.write_text(".arch armv8.2-a+dotprod+fp16\n" + assembly.replace(";", "\n") + "\n", "ascii")
        subprocess.run(["aarch64-linux-gnu-as", source, "-o", folder / "loop.o"], check=True, timeout=20)
        copy = ["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", folder / "loop.o", code]
        subprocess.run(copy, check=True, timeout=20)
        run = subprocess.run([program, "bound"], stdin=code.open("rb"), capture_output=True, check=True, timeout=20)
        return int(run.stdout) / 100

    return cycles


@pytest.mark.parametrize(
    ("assembly", "cycles"),
    [
        (";".join(f"sdot v{n}.4s, v30.16b, v31.4b[1]" for n in range(16)), 8),  # measured on silicon: 2 per cycle
        (";".join(f"ldr q{n}, [x0]" for n in range(8)), 4),  # N1
        (";".join(f"ldp q{2 * n}, q{2 * n + 1}, [x0, #{32 * n}]" for n in range(4)), 4),  # N1
        ("ld1 {v0.16b-v3.16b}, [x0], #64;ld1 {v4.16b-v7.16b}, [x0], #64", 4),  # N1
        (";".join(f"ldr x{n}, [x20]" for n in range(6)), 3),  # N1
        (";".join(f"str q{n}, [x0, #16]" for n in range(4)), 4),  # N1, SOG
        ("stp q0, q1, [x0];stp q2, q3, [x0, #32]", 4),  # N1, SOG
        ("st1 {v0.16b-v3.16b}, [x0]", 4),  # SOG; N1 says 2
        (";".join(f"str x{n}, [x20]" for n in range(4)), 2),  # N1
        (";".join(f"smlal v{n}.2d, v30.2s, v31.2s" for n in range(8)), 8),  # N1, SOG
        (";".join(f"mul v{n}.4s, v30.4s, v31.4s" for n in range(8)), 16),  # N1, SOG
        (";".join(f"fmla v{n}.4s, v30.4s, v31.4s" for n in range(8)), 4),  # measured on silicon: 2 per cycle
        ("and v0.16b, v1.16b, v2.16b;ushr v3.16b, v1.16b, #4", 1),  # N1
        ("zip1 v0.16b, v1.16b, v2.16b;tbl v3.16b, {v1.16b}, v2.16b", 1),  # N1
        ("sxtl v0.4s, v1.4h;sxtl2 v2.4s, v1.8h", 2),  # N1, SOG
        ("scvtf v0.4s, v1.4s;fcvtns v2.4s, v3.4s", 4),  # N1
        ("addv s0, v1.4s;umov w0, v1.s[1]", 2),  # N1
        ("add x0, x1, x2;eor x3, x1, x2;cmp x1, x2", 1),  # N1
        ("madd x0, x1, x2, x3;madd w4, w1, w2, w3", 4),  # N1, SOG
        ("add x0, x1, x2, lsl #6;dup v0.4s, w3", 2),  # N1
        ("fdiv v0.4s, v1.4s, v2.4s", 7),  # N1
        ("ld4 {v0.4s-v3.4s}, [x0]", 5),  # SOG; N1 says 2
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else str(value),
)
def test_the_port_bound_is_the_published_one(bound: Bound, assembly: str, cycles: float) -> None:
    assert bound(assembly) == cycles
