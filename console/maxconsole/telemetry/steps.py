# SPDX-License-Identifier: Apache-2.0
"""The single events of the last whole prefill batch and decode step: what a timeline is drawn from."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from maxconsole.schema import wire

#: A batch of a large model has some thousand events; of a longer run the beginning is forgotten.
_STEP_MAX_BYTES: Final = 1 << 20
#: Phase and step of a KernelEvent, and where they lie.
_PHASE_AND_STEP: Final = struct.Struct("<B3xI")
_KEY: Final = slice(4, 4 + _PHASE_AND_STEP.size)

#: The same of a NpuEvent, from its beginning.
_NPU_PHASE_AND_STEP: Final = struct.Struct("<xB2xI")
_NPU_FIELDS: Final = ("layer", "submitted", "begin", "end", "macs", "bytes", "mac_cycles")

_Records = npt.NDArray[np.void]


@dataclass(frozen=True)
class StepTrace:
    """One step. `data` is whole KernelEvent records, in the order in which they came."""

    phase: int
    step: int
    data: bytes
    npu_data: bytes = b""  # whole NpuEvent records

    @cached_property
    def records(self) -> _Records:
        """The events as a read-only array of wire.KernelEvent.DTYPE, by core and start."""
        records = np.frombuffer(self.data, wire.KernelEvent.DTYPE)
        records = records[np.lexsort((records["start_cycles"], records["core"]))]
        records.flags.writeable = False
        return records

    @cached_property
    def npu(self) -> _Records:
        """The NPU's jobs as a read-only array of wire.NpuEvent.DTYPE, by begin."""
        jobs = np.frombuffer(self.npu_data, wire.NpuEvent.DTYPE)
        jobs = jobs[np.argsort(jobs["begin"], kind="stable")]
        jobs.flags.writeable = False
        return jobs

    def to_json(self) -> dict[str, object]:
        """Step number and events; cycles are the cores' own counts."""
        names = ("core", "layer", "start_cycles", "cycles", "instructions", "work")
        events = [
            {"kernel": _kernel(int(one["kernel"])), **{name: int(one[name]) for name in names}} for one in self.records
        ]
        jobs = [
            {"kernel": _kernel(int(one["kernel"])), **{name: int(one[name]) for name in _NPU_FIELDS}}
            for one in self.npu
        ]
        return {"step": self.step, "events": events, "npu": jobs}


def _kernel(number: int) -> str:
    return wire.Kernel(number).name.lower() if number < len(wire.Kernel) else str(number)


class StepFold:
    """Follows KERNELS payloads and keeps, for each phase, the last step that is over.

    A step is over when its enclosing event has come, which is the last that the board sends of it.
    """

    def __init__(self) -> None:
        self._key: bytes | None = None  # phase and step of what is under way
        self._payloads: list[bytes] = []
        self._bytes = 0
        self._npu: list[tuple[tuple[int, int], bytes]] = []  # phase and step of a NpuEvent, and the record
        self._whole: dict[int, StepTrace] = {}

    def add(self, payload: bytes) -> None:
        """Takes the payload of a KERNELS frame, whole KernelEvent records."""
        size = wire.KernelEvent.SIZE
        if len(payload) < size:
            return
        last = len(payload) - size
        if payload[_KEY] == payload[last + _KEY.start : last + _KEY.stop]:  # most are of one step
            self._add(payload, last)
        else:
            for begin in range(0, len(payload), size):
                self._add(payload[begin : begin + size], 0)

    def add_npu(self, payload: bytes) -> None:
        """Takes the payload of a NPU_EVENTS frame, whole NpuEvent records; they come before their step is over."""
        size = wire.NpuEvent.SIZE
        for begin in range(0, len(payload), size):
            phase, step = _NPU_PHASE_AND_STEP.unpack_from(payload, begin)
            self._npu.append(((phase, step), payload[begin : begin + size]))
        del self._npu[: -(_STEP_MAX_BYTES // size)]

    def traces(self) -> Mapping[int, StepTrace]:
        """By wire.Phase."""
        return dict(self._whole)

    def _add(self, records: bytes, last: int) -> None:
        """Records of one step; the last of them is at `last`."""
        key = records[_KEY]
        if key != self._key:
            self._key, self._payloads, self._bytes = key, [], 0
        self._payloads.append(records)
        self._bytes += len(records)
        while self._bytes > _STEP_MAX_BYTES:
            self._bytes -= len(self._payloads.pop(0))
        if records[last] == wire.Kernel.STEP:
            phase, step = _PHASE_AND_STEP.unpack(key)
            jobs = b"".join(job for of, job in self._npu if of == (phase, step))
            self._whole[phase] = StepTrace(phase, step, b"".join(self._payloads), jobs)
            self._npu.clear()
            self._key = None  # the next request counts its steps from 0 again
