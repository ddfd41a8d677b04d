# SPDX-License-Identifier: Apache-2.0
"""Straight-line A64 code made of random memory accesses, for checking how the plug-in derives addresses."""

from __future__ import annotations

import random

_POINTERS = [f"x{n}" for n in range(1, 9)]
_INDICES = ["x9", "x10"]
_MIDDLE = 131072  # of the data area of 262144 bytes: pointers start here and never move far in a block


def program(seed: int, blocks: int = 60, length: int = 60) -> str:
    """Assembly of `randomized`, which only changes x0 to x18, vector registers and its own data."""
    chance = random.Random(seed)
    lines = ["        .arch armv8.2-a+dotprod", "        .global randomized", "randomized:"]
    for block in range(blocks):
        lines += [
            "        adrp x0, data",
            "        add x0, x0, :lo12:data",
            "        mov x9, #64",
            "        mov x10, #16",
        ]
        lines += [f"        add {pointer}, x0, #{_MIDDLE >> 12}, lsl #12" for pointer in _POINTERS]
        lines += [f"        str x2, [x0, #{16 * n}]" for n in range(8)]  # a table of pointers
        lines += [f"        b 1f\n1:      // block {block}"]
        lines += [f"        {_instruction(chance)}" for _ in range(length)]
        lines += ["        b 1f", "1:"]
    lines += ["        ret", "        .balign 16", "literal: .quad 1, 2, 3, 4"]
    lines += ["        .bss", "        .balign 4096", "data:   .skip 262144"]
    return "\n".join(lines) + "\n"


def _instruction(chance: random.Random) -> str:
    return chance.choice(_KINDS)(chance)


def _base(chance: random.Random) -> str:
    return chance.choice(_POINTERS)


def _step(chance: random.Random, limit: int) -> int:
    return 16 * chance.randint(-limit // 16, (limit - 1) // 16)


def _address(chance: random.Random, limit: int = 256, scale: int = 1) -> str:
    base, step = _base(chance), _step(chance, limit)
    forms = [f"[{base}]", f"[{base}, #{step}]", f"[{base}, #{step}]!", f"[{base}], #{step}"]
    if scale == 1:
        forms += [f"[{base}, #{16 * chance.randint(0, 15)}]", f"[{base}, {chance.choice(_INDICES)}]"]
    return chance.choice(forms)


def _one(chance: random.Random) -> str:
    name, register = chance.choice(
        [("ldr", "w12"), ("ldr", "x12"), ("ldrb", "w12"), ("ldrh", "w12"), ("ldrsw", "x12"), ("ldrsb", "x12")]
        + [(op, f"{size}{chance.randint(0, 31)}") for op in ("ldr", "str") for size in "bhsdq"]
        + [("str", "w13"), ("str", "x13"), ("strb", "w13"), ("strh", "wzr"), ("ldur", "x12"), ("stur", "q3")]
    )
    if name in ("ldur", "stur"):
        return f"{name} {register}, [{_base(chance)}, #{_step(chance, 256)}]"
    return f"{name} {register}, {_address(chance)}"


def _pair(chance: random.Random) -> str:
    name = chance.choice(["ldp", "stp"])
    first, second = chance.choice([("w12", "w13"), ("x12", "x13"), ("s1", "s2"), ("d1", "d2"), ("q1", "q2")])
    limit = 256 if first[0] in "ws" else 512
    return f"{name} {first}, {second}, {_address(chance, limit, scale=2)}"


def _structures(chance: random.Random) -> str:
    count = chance.randint(1, 4)
    arrangement = chance.choice(["16b", "8b", "8h", "4s", "2d"])
    first = chance.randint(0, 20)
    registers = ", ".join(f"v{first + n}.{arrangement}" for n in range(count))
    name = chance.choice(["ld1", "st1", "ld1", "st1", f"ld{count}", f"st{count}"])
    size = count * (8 if arrangement == "8b" else 16)
    after = chance.choice(["", f", #{size}", f", {chance.choice(_INDICES)}"])
    return f"{name} {{{registers}}}, [{_base(chance)}]{after}"


def _lane(chance: random.Random) -> str:
    after = chance.choice(["", ", x10"])
    what = chance.choice(["ld1 {v1.s}[2]", "st1 {v1.h}[5]", "ld1r {v2.4s}", "ld4r {v2.8h, v3.8h, v4.8h, v5.8h}"])
    return f"{what}, [{_base(chance)}]{after}"


def _arithmetic(chance: random.Random) -> str:
    to, of = _base(chance), _base(chance)
    forms = (
        f"{chance.choice(['add', 'sub'])} {to}, {of}, #{16 * chance.randint(0, 60)}",
        f"mov {to}, {of}",
        f"add {to}, {of}, {chance.choice(_INDICES)}",
        f"and {to}, {of}, #0xfffffffffffffff0",
    )
    return chance.choice(forms)


def _other(chance: random.Random) -> str:
    base = _base(chance)
    forms = (
        f"ldr {base}, [x0, #{16 * chance.randint(0, 7)}]",
        "ldr x12, literal",
        "ldr q7, literal",
        f"prfm pldl1keep, [{base}, #{8 * chance.randint(0, 99)}]",
        f"ldaxr x12, [{base}]",
        f"stxr w11, x12, [{base}]",
        f"stlr x13, [{base}]",
        f"ldar w12, [{base}]",
        f"ldadd x10, x12, [{base}]",
        f"swp x12, x13, [{base}]",
        f"cas x12, x13, [{base}]",
        "sdot v1.4s, v2.16b, v3.16b",
        "fmov x12, d1",
        "umov w12, v1.b[3]",
        "mul x12, x12, x13",
    )
    return chance.choice(forms)


_KINDS = [_one, _one, _one, _pair, _structures, _lane, _arithmetic, _arithmetic, _other]
