// SPDX-License-Identifier: Apache-2.0
// Cycle and event counters of the calling core. One interface, two sources: the core's own PMU
// (hal/pmu_registers.c), or the virtual board's timing model behind its device page
// (hal/pmu_page.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.h"

struct pmu_sample {
    uint64_t cycles;
    uint64_t instructions;       // retired; 0 where the profile selects no such counter
    uint64_t counters[COUNTERS]; // events selected by the board profile, in that order
};

/// Starts the calling core's counters. Once per core.
void pmu_init(void);

/// False where nothing counts (a virtual board without its timing plug-in): samples then read 0.
bool pmu_present(void);

/// Rate of `cycles`, in Hz.
uint64_t pmu_hz(void);

/// All counters since pmu_init, never wrapping.
void pmu_read(struct pmu_sample *sample);

/// Cycles alone: cheaper than a sample.
uint64_t pmu_cycles(void);

/// Events behind pmu_sample.counters, as PMU event numbers.
void pmu_events(uint16_t events[COUNTERS]);

/// From here to the next reading of the counters nothing is modeled: what the board does between requests
/// depends on when they come. Only the virtual board's model knows of it.
void pmu_pause(void);

/// Counts L1D accesses and refills that fall into `base`..`base + bytes` apart, from now on. Only the virtual
/// board can; elsewhere both counts stay 0.
void pmu_watch(const void *base, size_t bytes);
void pmu_watch_read(uint64_t *accesses, uint64_t *refills);
