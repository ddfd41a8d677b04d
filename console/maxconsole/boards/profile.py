# SPDX-License-Identifier: Apache-2.0
"""What a board profile says: one frozen dataclass for each table of `profiles/boards/NAME.toml`.

A scalar that may be `None` is a fact the profile's author does not know: the key is left out and `[provenance]`
marks it `unknown`. Whoever needs it asks `Board.need`, which names the key that the owner has to fill in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from maxconsole.boards.ranges import MIB, PAGE_BYTES, MemoryRange, subtract
from maxconsole.boards.tables import ProfileError, Rule
from maxconsole.schema.wire import CORES_MAX

POSITIVE = Rule("be positive", lambda value: isinstance(value, int | float) and value > 0)
POWER_OF_TWO = Rule("be a power of two", lambda value: isinstance(value, int) and value > 0 and not value & (value - 1))
PAGES = Rule(f"be a multiple of {PAGE_BYTES} (a page)", lambda value: isinstance(value, int) and not value % PAGE_BYTES)
PHYSICAL = Rule("be an address of 0 to 2^40 - 1", lambda value: isinstance(value, int) and 0 <= value < 1 << 40)
IDENTIFIER = Rule(
    "consist of lower-case letters, digits and hyphens",
    lambda value: isinstance(value, str) and value != "" and value.replace("-", "").isalnum() and value.islower(),
)
SHORT = Rule("be 1 to 31 characters long", lambda value: isinstance(value, str) and 0 < len(value) < 32)

V = TypeVar("V")

Count = Annotated[int, POSITIVE]
Address = Annotated[int, PHYSICAL]


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor cores; `mcpu` is the compiler's name for them.

    `decode_cores` is how many of them decode best, which is bound by memory; more than there are means all.
    """

    model: str
    mcpu: str
    cores: Count
    clock_hz: Count | None = None
    counter_hz: Count | None = None  # of the generic timer (CNTFRQ_EL0)
    decode_cores: Count = CORES_MAX


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache: geometry, load-to-use latency, and how many misses it keeps in flight."""

    size_bytes: Count
    ways: Count
    latency_cycles: Count
    line_bytes: Annotated[int, POWER_OF_TWO] = 64
    outstanding_misses: Count | None = None

    @property
    def sets(self) -> int:
        return self.size_bytes // (self.ways * self.line_bytes)


@dataclass(frozen=True, slots=True)
class Caches:
    """L1 and L2 of each core; L3 is shared, and None where there is none."""

    l1i: Cache
    l1d: Cache
    l2: Cache
    l3: Cache | None = None


@dataclass(frozen=True, slots=True)
class Tlb:
    """Translation look-aside buffers of a core. The first level is fully associative and costs nothing on a hit."""

    l1d_entries: Count
    l2_entries: Count
    l2_ways: Count
    l2_latency_cycles: Count
    walk_cycles: Count  # of the page tables, after a miss in both


@dataclass(frozen=True, slots=True)
class Dram:
    """External memory. `effective` is what one core reads at best, `peak` what the bus carries.

    `shared` is what 2, 3, ... cores read together, `write` what 1, 2, 3, ... cores write. The last number given holds
    for more cores, and what is left out is as for one core reading.
    """

    kind: str
    peak_bytes_per_s: Count
    effective_bytes_per_s: Count | None = None
    shared_bytes_per_s: tuple[Count, ...] = ()
    write_bytes_per_s: tuple[Count, ...] = ()
    latency_ns: Annotated[float, POSITIVE] | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """Physical memory map. Reserved ranges belong to boot code, carve-outs to devices: nothing is placed in either."""

    ram: tuple[MemoryRange, ...]
    reserved: tuple[MemoryRange, ...] = ()
    carve_outs: tuple[MemoryRange, ...] = ()
    image_bytes: Annotated[int, POSITIVE, PAGES] = 8 * MIB  # code, data, stacks and RTT rings of the firmware
    stack_bytes: Annotated[int, POSITIVE, PAGES] = 64 << 10  # of each core

    @property
    def usable(self) -> tuple[MemoryRange, ...]:
        """RAM that is neither reserved nor carved out, ascending."""
        return subtract(self.ram, (*self.reserved, *self.carve_outs))


@dataclass(frozen=True, slots=True)
class Uart:
    """The debug UART. `clock_hz` is its reference clock, None where boot code sets the divisor.

    `interrupt` is its number at the interrupt controller; only a UART that is the link needs it.
    """

    kind: Literal["pl011"]
    base: Address | None = None
    clock_hz: Count | None = None
    interrupt: Count | None = None
    baud: Count = 115200


@dataclass(frozen=True, slots=True)
class Gic:
    """The interrupt controller's two register blocks."""

    kind: Literal["gicv2"]
    distributor: Address | None = None
    distributor_bytes: Annotated[int, POSITIVE, PAGES] = PAGE_BYTES
    cpu_interface: Address | None = None
    cpu_interface_bytes: Annotated[int, POSITIVE, PAGES] = 2 * PAGE_BYTES
    timer_interrupt: Count = 27  # PPI of the virtual timer, as the Arm base system architecture fixes it


NPU_FORMATS = ("int4 x int8", "int8 x int8")
"""Weights and activations of a product, as `NpuRate.formats` names them."""


@dataclass(frozen=True, slots=True)
class NpuRate:
    """Multiply-accumulates per second for one pair of number formats, one of NPU_FORMATS."""

    formats: str
    macs_per_s: Count


@dataclass(frozen=True, slots=True)
class Npu:
    """The matrix accelerator: registers, the carve-out it works in, its rates and its share of the bus."""

    base: Address | None = None
    carve_out: str | None = None
    bandwidth_bytes_per_s: Count | None = None
    startup_cycles: Count | None = None  # of the cores' clock, before a job's first transfer
    rates: tuple[NpuRate, ...] = ()


@dataclass(frozen=True, slots=True)
class PmuEvent:
    """One of the events that the six programmable counters start with; the number is Arm's."""

    name: Annotated[str, SHORT]
    number: Annotated[int, Rule("be an event number, 0 to 0xffff", lambda v: isinstance(v, int) and 0 <= v < 1 << 16)]


@dataclass(frozen=True, slots=True)
class Pmu:
    events: tuple[PmuEvent, ...]


@dataclass(frozen=True, slots=True)
class Boot:
    """How the first core enters the firmware, and how the others are started."""

    entry_level: Literal[1, 2] | None = None
    psci: Literal["hvc", "smc"] | None = None
    core_ids: tuple[int, ...] | None = None  # MPIDR affinity of each core, as PSCI CPU_ON takes it


@dataclass(frozen=True, slots=True)
class Probe:
    """How memory and cores are reached from the host."""

    kind: Literal["virtual", "jlink", "gdb"]
    device: str | None = None
    interface: Literal["swd", "jtag"] | None = None
    speed_hz: Count | None = None
    core_bases: tuple[int, ...] = ()  # debug register base of each core on the APB access port
    cti_bases: tuple[int, ...] = ()  # cross-trigger interface of each core


@dataclass(frozen=True, slots=True)
class Flash:
    """How image and weights reach the board's memory."""

    method: Literal["shared-memory", "jlink", "gdb"]


@dataclass(frozen=True, slots=True)
class Link:
    """How console and firmware talk; the sizes are those of the RTT rings in board memory."""

    transport: Literal["rtt", "uart"]
    rtt_up_bytes: Count
    rtt_down_bytes: Count


@dataclass(frozen=True, slots=True)
class Virtual:
    """The emulated machine behind a virtual board. Its RAM is one host file that covers `ram_base..+ram_bytes`."""

    machine: str
    cpu: str
    ram_base: Annotated[int, PHYSICAL, PAGES]
    ram_bytes: Annotated[int, POSITIVE, PAGES]
    device_page: Annotated[int, PHYSICAL, PAGES]


@dataclass(frozen=True, slots=True)
class Provenance:
    """How far a value can be trusted, and who says so."""

    status: Literal["documented", "measured", "assumed", "unknown"]
    source: str


@dataclass(frozen=True, slots=True)
class Board:
    """A validated board profile. `file` is where it was read from, for messages."""

    file: Path
    name: str
    title: str
    summary: str
    hal: str  # folder of the board's glue code below firmware/hal
    cpu: Cpu
    caches: Caches
    tlb: Tlb
    dram: Dram
    memory: Memory
    uart: Uart
    gic: Gic
    pmu: Pmu
    boot: Boot
    probe: Probe
    flash: Flash
    link: Link
    npu: Npu | None = None
    virtual: Virtual | None = None
    provenance: dict[str, Provenance] = field(default_factory=dict, hash=False)

    @property
    def modelled(self) -> bool:
        """True where cycles and misses come from a timing model, not from silicon."""
        return self.virtual is not None

    @property
    def npu_memory(self) -> MemoryRange | None:
        """The carve-out that the NPU works in, on boards that have one."""
        if self.npu is None or self.npu.carve_out is None:
            return None
        return next(part for part in self.memory.carve_outs if part.name == self.npu.carve_out)

    def origin(self, key: str) -> Provenance:
        """Provenance of a dotted key: its own entry, or that of the closest table around it."""
        parts = key.split(".")
        for length in range(len(parts), 0, -1):
            entry = self.provenance.get(".".join(parts[:length]))
            if entry is not None:
                return entry
        return Provenance("assumed", "the profile names no source")

    def need(self, key: str, value: V | None) -> V:
        """`value` of the dotted `key`, or a ProfileError that says which key the board's owner has to fill in."""
        if value is None:
            raise ProfileError(
                f"{self.file}: {key} is unknown, and this needs it",
                hint=f'write a profile with extends = "{self.name}" that sets {key}, and name it with --board',
            )
        return value
