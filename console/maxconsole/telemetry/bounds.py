# SPDX-License-Identifier: Apache-2.0
"""What a Cortex-A76 can do at most. Imports nothing: the console needs it before the first paint."""

from typing import Final

#: int8 multiply-accumulates of a core in a cycle: two SDOT of 16 (Arm Cortex-A76 Software Optimization Guide, section
#: 3.14: ASIMD dot product, throughput 2).
PEAK_MACS: Final = 32
#: Event of virtual boards, see profiles/pmu/virtual.toml: cycles that the busiest pipe alone needs.
MODEL_PORT_BOUND: Final = 0xC000
