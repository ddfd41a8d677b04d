# SPDX-License-Identifier: Apache-2.0
"""A function of an image, taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from maxconsole.firmware.elf import FirmwareElf, read_elf
from maxconsole.firmware.symbols import Function, Location, Symbolizer
from maxconsole.inspection.code import Instruction, disassemble
from maxconsole.inspection.figures import LoopFigures, count_loop
from maxconsole.inspection.kernels import find_functions, kernel_functions, kernel_of
from maxconsole.inspection.loops import Loop, find_blocks, find_loops
from maxconsole.inspection.model import Traits, consult
from maxconsole.inspection.stack import stack_accesses


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction and where it comes from. `loop` is the index of the innermost loop that holds it."""

    instruction: Instruction
    traits: Traits
    file: str
    line: int
    loop: int | None
    on_stack: bool


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """A function's code, its loops in the order of their headers, and what a pass through each costs."""

    name: str
    kernel: str
    address: int
    size_bytes: int
    file: str
    lines: tuple[Line, ...] = field(repr=False)
    loops: tuple[Loop, ...] = field(repr=False)
    figures: tuple[LoopFigures, ...]

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
        found = [self.inspect(one) for one in kernel_functions(self._symbolizer)]
        return tuple(sorted(found, key=lambda one: (one.kernel == "-", one.kernel, one.name)))

    def find(self, name: str) -> tuple[FunctionReport, ...]:
        """Those of a kernel, or the one of that name. Raises UserError with similar names where there is none."""
        return tuple(map(self.inspect, find_functions(self._symbolizer, name)))

    def inspect(self, function: Function) -> FunctionReport:
        """Disassembles `function`, finds its loops and consults the timing model.

        Raises ToolMissing where there is no compiler for the model's decoder.
        """
        code = _code(self.elf, function)
        instructions = disassemble(code, function.address)
        loops = find_loops(instructions)
        traits, bounds = consult(code, loops)
        on_stack = stack_accesses(instructions, traits, find_blocks(instructions))
        inner = {index: number for number, loop in enumerate(loops) for index in loop.members}
        places = [self._symbolizer.symbolize(one.address) for one in instructions]
        return FunctionReport(
            name=function.name,
            kernel=kernel_of(function.name),
            address=function.address,
            size_bytes=function.size_bytes,
            file=places[0].file if places else "",
            lines=tuple(
                Line(one, knows, place.file, place.line, inner.get(index), index in on_stack)
                for index, (one, knows, place) in enumerate(zip(instructions, traits, places, strict=True))
            ),
            loops=loops,
            figures=tuple(
                count_loop(loop, bound, instructions, traits, on_stack)
                for loop, bound in zip(loops, bounds, strict=True)
            ),
        )


def _code(elf: FirmwareElf, function: Function) -> bytes:
    for segment in elf.segments:
        start = function.address - segment.address
        if 0 <= start < len(segment.data):
            return segment.data[start : start + function.size_bytes]
    return b""
