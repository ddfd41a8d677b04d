# SPDX-License-Identifier: Apache-2.0
"""A function of an image, taken apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from maxconsole.firmware.elf import FirmwareElf, read_elf
from maxconsole.firmware.symbols import Function, Location, Symbolizer
from maxconsole.inspection.code import Instruction, disassemble
from maxconsole.inspection.figures import LoopFigures, count_loop
from maxconsole.inspection.kernels import find_functions, kernel_functions, kernel_of
from maxconsole.inspection.loops import Loop, find_blocks, find_loops
from maxconsole.inspection.model import Answer, Traits, consult
from maxconsole.inspection.stack import stack_accesses


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction. `loop` is the index of the innermost loop that holds it."""

    instruction: Instruction
    traits: Traits
    loop: int | None
    on_stack: bool


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """A function's code, its loops in the order of their headers, and what a pass through each costs.

    `file` is what was compiled; `locate` says from which line an instruction is, which takes longer to find out.
    """

    name: str
    kernel: str
    address: int
    size_bytes: int
    file: str
    lines: tuple[Line, ...] = field(repr=False)
    loops: tuple[Loop, ...] = field(repr=False)
    figures: tuple[LoopFigures, ...]
    locate: Callable[[int], Location] = field(repr=False)

    @property
    def hot(self) -> tuple[LoopFigures, ...]:
        """The innermost loops: where a kernel spends its time."""
        return tuple(one for one in self.figures if one.innermost)

    @property
    def hottest(self) -> LoopFigures | None:
        """Of these the one with the most multiply-accumulates, or the longest."""
        return max(self.hot, key=lambda one: (one.macs, one.instructions), default=None)

    @property
    def assembly(self) -> bool:
        return self.file.endswith(".S")


class Inspector:
    """Takes functions of one image apart. Raises UserError for files that cannot be read."""

    def __init__(self, path: Path) -> None:
        self.elf: FirmwareElf = read_elf(path)
        self._symbolizer = Symbolizer(path)

    def functions(self) -> tuple[Function, ...]:
        """All functions of the image, by address."""
        return self._symbolizer.functions()

    def location(self, address: int) -> Location:
        """Function, file and line of an instruction."""
        return self._symbolizer.symbolize(address)

    def kernels(self) -> tuple[FunctionReport, ...]:
        """All functions of firmware/kernels in the image, by kernel and name."""
        found = self.inspect(kernel_functions(self._symbolizer))
        return tuple(sorted(found, key=lambda one: (one.kernel == "-", one.kernel, one.name)))

    def find(self, name: str) -> tuple[FunctionReport, ...]:
        """Those of a kernel, or the one of that name. Raises UserError with similar names where there is none."""
        return self.inspect(find_functions(self._symbolizer, name))

    def inspect(self, functions: Sequence[Function]) -> tuple[FunctionReport, ...]:
        """Disassembles `functions`, finds their loops and consults the timing model.

        Raises ToolMissing where there is no compiler for the model's decoder.
        """
        codes = [_code(self.elf, one) for one in functions]
        listings = [disassemble(code, one.address) for code, one in zip(codes, functions, strict=True)]
        loops = [find_loops(instructions) for instructions in listings]
        answers = consult(list(zip(codes, loops, strict=True)))
        return tuple(map(self._report, functions, listings, loops, answers))

    def _report(
        self, function: Function, instructions: tuple[Instruction, ...], loops: tuple[Loop, ...], model: Answer
    ) -> FunctionReport:
        on_stack = stack_accesses(instructions, model.traits, find_blocks(instructions))
        inner = {index: number for number, loop in enumerate(loops) for index in loop.members}
        return FunctionReport(
            name=function.name,
            kernel=kernel_of(function.name),
            address=function.address,
            size_bytes=function.size_bytes,
            file=self._symbolizer.source_of(function.address),
            lines=tuple(
                Line(one, traits, inner.get(index), index in on_stack)
                for index, (one, traits) in enumerate(zip(instructions, model.traits, strict=True))
            ),
            loops=loops,
            figures=tuple(
                count_loop(loop, bound, instructions, model.traits, on_stack)
                for loop, bound in zip(loops, model.bounds, strict=True)
            ),
            locate=self.location,
        )


def _code(elf: FirmwareElf, function: Function) -> bytes:
    for segment in elf.segments:
        start = function.address - segment.address
        if 0 <= start < len(segment.data):
            return segment.data[start : start + function.size_bytes]
    return b""
