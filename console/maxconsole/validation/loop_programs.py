# SPDX-License-Identifier: Apache-2.0
"""Small loops that each ask one question of a core: 22 fixed ones, and random ones.

A body may use x1 (memory that is read), x2 (memory that is written), x3 to x17 and all vector registers; x0 counts.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

ARCHITECTURE = ".arch armv8.2-a+dotprod+fp16"


@dataclass(frozen=True, slots=True)
class Loop:
    """`neoverse_n1`: cycles an iteration that LLVM's scheduling model says; None: to be asked. `sourced`: what the
    chain of accumulators takes by the sources that a64_classes.h follows instead."""

    name: str
    body: str
    neoverse_n1: float | None = None
    sourced: float | None = None
    why: str = ""

    @property
    def assembly(self) -> str:
        """The loop with its label and its branch."""
        lines = [line.strip() for line in self.body.replace(";", "\n").splitlines()]
        return "\n".join([f".L{self.name}:", *filter(None, lines), "subs x0, x0, #1", f"b.ne .L{self.name}", ""])


def _each(template: str, count: int, first: int = 0) -> str:
    """`template` for n in first.., with m = 2n and o = 2n + 1."""
    return "\n".join(template.format(n=n, m=2 * n, o=2 * n + 1) for n in range(first, first + count))


_UNPACK = """ldr q0, [x1]
and v1.16b, v0.16b, v31.16b
and v2.16b, v0.16b, v30.16b
cmeq v3.16b, v0.16b, v29.16b
sdot v8.4s, v1.16b, v28.16b
sdot v9.4s, v2.16b, v28.16b
sdot v10.4s, v3.16b, v27.16b
ushr v4.16b, v0.16b, #4
sub v5.16b, v4.16b, v26.16b
sdot v11.4s, v5.16b, v27.16b"""

_INT_MIX = """add x3, x4, x5
eor x6, x7, x8
mul x9, x10, x11
lsl x12, x13, #3
mul x14, x10, x15
and x16, x4, x5
madd w17, w4, w5, w6
add x13, x4, x5, lsl #9
orr x7, x4, x5
add w8, w4, w5, uxtb"""

LOOPS = (
    Loop("sdot16_indep", _each("sdot v{n}.4s, v30.16b, v31.16b", 16), 8),
    Loop("sdot_chain8", _each("sdot v0.4s, v30.16b, v31.16b", 8), 16, 8, "SDOT 3(1): see the class V_DOT"),
    Loop("load8_q", _each("ldr q{n}, [x1]", 8), 4),
    Loop("ldp4_q", _each("ldp q{m}, q{o}, [x1]", 4), 4),
    Loop("ldr6_x", _each("ldr x{n}, [x1]", 6, 4), 3),
    Loop("fmla_chain8", _each("fmla v0.4s, v30.4s, v31.4s", 8), 32, 16, "FMLA 4(2): see the class V_FMLA"),
    Loop("madd_chain4", _each("madd x3, x4, x5, x3", 4), 16, 12, "MADD 4(3): see the class MUL_X"),
    Loop("fadd_chain8", _each("fadd v0.4s, v0.4s, v31.4s", 8), 16),
    Loop("add_chain8", _each("add x3, x3, x4", 8), 8),
    Loop("smlal8", _each("smlal v{n}.4s, v30.4h, v31.4h", 8), 8),
    Loop(
        "smull_smlal2_sadalp",
        _each("smull v1{n}.8h, v30.8b, v31.8b\nsmlal2 v1{n}.8h, v30.16b, v31.16b\nsadalp v{n}.4s, v1{n}.8h", 4),
        8,
    ),
    Loop("mul_q8", _each("mul v{n}.4s, v30.4s, v31.4s", 8), 16),
    Loop(
        "gemm_sdot_4x4",
        _each("ldr q{n}, [x1]", 8, 16)
        + "\n"
        + _each("sdot v{n}.4s, v16.16b, v20.16b", 16)
        + "\nadd x3, x3, #64\nadd x4, x4, #64",
        8,
    ),
    Loop(
        "gemm_sdot_8x8",
        "ldp q16, q17, [x1]\nldp q18, q19, [x1, #32]\nprfm pldl1keep, [x1, #256]\nprfm pldl1keep, [x1, #320]\n"
        + _each("sdot v{n}.4s, v18.16b, v16.4b[1]", 8)
        + "\n"
        + _each("sdot v{n}.4s, v19.16b, v17.4b[2]", 8, 8),
        8,
    ),
    Loop(
        "gemm_fmla_8x4",
        "ldp q16, q17, [x1]\nldr q18, [x1, #32]\n"
        + _each("fmla v{n}.4s, v16.4s, v18.s[1]", 4)
        + "\n"
        + _each("fmla v{n}.4s, v17.4s, v18.s[2]", 4, 4),
        4,
    ),
    Loop("int4_unpack", _UNPACK, 4.5),
    Loop("chase_x", _each("ldr x1, [x1]", 4), 16),
    Loop("store4_q", "str q0, [x2]\nstr q1, [x2, #16]\nstr q2, [x2, #32]\nstr q3, [x2, #48]", 4),
    Loop("copy_q", "ldp q0, q1, [x1]\nldp q2, q3, [x1, #32]\nstp q0, q1, [x2]\nstp q2, q3, [x2, #32]", 6),
    Loop("int_mix", _INT_MIX, 9),
    Loop("zip_tbl", _each("zip1 v{n}.16b, v30.16b, v31.16b\ntbl v1{n}.16b, {{v30.16b}}, v29.16b", 4), 4),
    Loop("add_eor", "add x3, x4, x5\neor x6, x7, x8", 1),
)

#: What random loops are made of. d, n, m: registers. Instructions are left out whose latency or pipes a64_classes.h
#: takes from other sources than LLVM (accumulating ones, SDOT, UMULH), and those that LLVM's model does not list.
_INTEGER = (
    "add {d}, {n}, {m}",
    "sub {d}, {n}, #5",
    "eor {d}, {n}, {m}",
    "and {d}, {n}, #0xff",
    "lsl {d}, {n}, #3",
    "lsr {d}, {n}, {m}",
    "add {d}, {n}, {m}, lsl #12",
    "clz {d}, {n}",
    "mul {d}, {n}, {m}",
    "ldr {d}, [x1, #{offset}]",
    "ldp {d}, x17, [x1, #{offset}]",
    "str {n}, [x2, #{offset}]",
)
_VECTOR = (
    "add {d}.4s, {n}.4s, {m}.4s",
    "and {d}.16b, {n}.16b, {m}.16b",
    "smax {d}.8h, {n}.8h, {m}.8h",
    "cmgt {d}.16b, {n}.16b, {m}.16b",
    "zip1 {d}.16b, {n}.16b, {m}.16b",
    "tbl {d}.16b, {{{n}.16b}}, {m}.16b",
    "ext {d}.16b, {n}.16b, {m}.16b, #4",
    "ushr {d}.16b, {n}.16b, #4",
    "sshll {d}.8h, {n}.8b, #0",
    "smull {d}.4s, {n}.4h, {m}.4h",
    "mul {d}.4s, {n}.4s, {m}.4s",
    "fadd {d}.4s, {n}.4s, {m}.4s",
    "fmul {d}.4s, {n}.4s, {m}.4s",
    "scvtf {d}.4s, {n}.4s",
    "ldr {q}, [x1, #{offset}]",
    "str {q}, [x2, #{offset}]",
)


def random_loops(seed: int, count: int) -> tuple[Loop, ...]:
    """Loops of 6 to 24 instructions; the same for the same seed."""
    chance = random.Random(seed)
    return tuple(Loop(f"random_{seed}_{n}", _random_body(chance)) for n in range(count))


def _random_body(chance: random.Random) -> str:
    general = [f"x{n}" for n in range(4, 16)]
    vector = [f"v{n}" for n in range(12)]
    share = chance.random()  # of vector instructions
    lines = []
    for _ in range(chance.randint(6, 24)):
        templates, registers = (_VECTOR, vector) if chance.random() < share else (_INTEGER, general)
        d, n, m = (chance.choice(registers) for _ in range(3))
        offset = 16 * chance.randrange(16)
        lines.append(chance.choice(templates).format(d=d, n=n, m=m, q=d.replace("v", "q"), offset=offset))
    return "\n".join(lines)
