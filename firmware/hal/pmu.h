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
    uint64_t counters[COUNTERS]; // of the selected events, in their order
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

/// Events behind pmu_sample.counters, as PMU event numbers: at first those of the board profile.
const uint16_t *pmu_events(void);

/// Counts other events from now on, on every core. Samples from before and after do not compare.
void pmu_select(const uint16_t events[COUNTERS]);

// Barriers. They work without these, which tell the virtual board's model what the cores do, so that nothing
// of how they wait is counted.

/// Core 0: a job of `cores` cores begins, and those that wait for one are let go. With more than one, core 0
/// departs as they do, when it has woken them.
void pmu_team(unsigned cores);
/// The calling core has finished its part, and waits.
void pmu_arrive(void);
/// It goes on.
void pmu_depart(void);

/// What the model of the virtual board knows only afterwards, in cycles; 0 elsewhere.
struct pmu_delay {
    uint64_t work; // that the other cores and the NPU have held a core up through the memory that they share
    int64_t waits; // by how much longer than it seemed it has waited for the NPU
};

/// When `core` arrived at the last barrier that is complete, in cycles; and how much later than by its own
/// counters.
void pmu_arrival(unsigned core, uint64_t *cycles, struct pmu_delay *delay);

/// From here to the next reading of the counters nothing is modeled: what the board does between requests
/// depends on when they come. Only the virtual board's model knows of it.
void pmu_pause(void);

/// Counts L1D accesses and refills that fall into `base`..`base + bytes` apart, from now on. Only the virtual
/// board can; elsewhere both counts stay 0.
void pmu_watch(const void *base, size_t bytes);
void pmu_watch_read(uint64_t *accesses, uint64_t *refills);
