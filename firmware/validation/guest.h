// SPDX-License-Identifier: Apache-2.0
// What the test programs share: the device page, and results that the test reads from memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "schema/device_page.h"

#define PAGE ((volatile struct device_page *)DEVICE_PAGE)

enum { RESULTS = 64 };

struct result {
    uint64_t cycles, instructions, counters[6], watch_accesses, watch_refills;
};

extern struct result results[RESULTS];

static inline void sample(struct result *into) {
    PAGE->latch = 0;
    const volatile struct device_page_sample *core = &PAGE->core[0];
    into->cycles = core->cycles;
    into->instructions = core->instructions;
    for (int i = 0; i < 6; i++)
        into->counters[i] = core->counters[i];
    into->watch_accesses = core->watch_accesses;
    into->watch_refills = core->watch_refills;
}

/// results[index] = what happened between two samples.
static inline void difference(int index, const struct result *from, const struct result *to) {
    struct result *result = &results[index];
    result->cycles = to->cycles - from->cycles;
    result->instructions = to->instructions - from->instructions;
    for (int i = 0; i < 6; i++)
        result->counters[i] = to->counters[i] - from->counters[i];
    result->watch_accesses = to->watch_accesses - from->watch_accesses;
    result->watch_refills = to->watch_refills - from->watch_refills;
}

#define MEASURE(index, work)                                                                                 \
    do {                                                                                                     \
        struct result before, after;                                                                         \
        sample(&before);                                                                                     \
        work;                                                                                                \
        sample(&after);                                                                                      \
        difference(index, &before, &after);                                                                  \
    } while (0)
