# SPDX-License-Identifier: Apache-2.0
"""A function's instructions, as the disassembler reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import capstone
from capstone import arm64

INSTRUCTION_BYTES = 4
#: Of three or four consecutive registers in braces, which assemblers also take as first and last.
_LIST = re.compile(r"\{(v\d+\.\w+)(?:, v\d+\.\w+)+, (v\d+\.\w+)\}")
_ENDS = frozenset({"b", "br", "ret", "eret"})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `target` is where a direct branch or call leads; `ends` that the next one does not follow."""

    address: int
    mnemonic: str
    operands: str
    target: int | None = None
    call: bool = False
    ends: bool = False
    indirect: bool = False

    def __str__(self) -> str:
        return f"{self.mnemonic:<7} {self.operands}".rstrip()


def disassemble(code: bytes, address: int) -> tuple[Instruction, ...]:
    """The instructions of `code`, which lies at `address`; words that are none become `.byte`."""
    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
    decoder.detail = True
    decoder.skipdata = True
    return tuple(_instruction(one) for one in decoder.disasm(code, address))


def _instruction(one: capstone.CsInsn) -> Instruction:
    if not one.id:  # a word that was skipped
        return Instruction(one.address, one.mnemonic, one.op_str)
    target = None
    if one.group(arm64.ARM64_GRP_BRANCH_RELATIVE):  # which indirect branches are in, too
        addresses = [operand.imm for operand in one.operands if operand.type == arm64.ARM64_OP_IMM]
        target = addresses[-1] if addresses else None  # TBZ has the bit's number before it
    return Instruction(
        one.address,
        one.mnemonic,
        _LIST.sub(r"{\1-\2}", one.op_str),
        target,
        call=one.group(arm64.ARM64_GRP_CALL),
        ends=one.mnemonic in _ENDS,
        indirect=one.mnemonic == "br",
    )
