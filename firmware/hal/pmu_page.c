// SPDX-License-Identifier: Apache-2.0
// Counters of the virtual board: its timing model answers on a page of registers (schema/device_page.toml).
// Without the plug-in the page is plain memory and reads 0.
#include "hal/pmu.h"

#include "arch/cpu.h"
#include "board_config.h"
#include "schema/device_page.h"

#if BOARD_HAS_DEVICE_PAGE

static volatile struct device_page *const page = (volatile struct device_page *)BOARD_DEVICE_PAGE;

static bool present;
static uint16_t selected[COUNTERS] = BOARD_PMU_EVENTS;

/// The model counts everything from power-on: there is nothing to start.
void pmu_init(void) {
    present = page->magic == DEVICE_PAGE_MAGIC && page->version == DEVICE_PAGE_VERSION;
    pmu_select(selected);
}

bool pmu_present(void) {
    return present;
}

uint64_t pmu_hz(void) {
    return present ? page->counter_hz : BOARD_COUNTER_HZ;
}

/// The plug-in fills the sample before the store to `latch` is over.
static const volatile struct device_page_sample *latch(void) {
    unsigned core = core_number();
    page->latch = core;
    return &page->core[core];
}

void pmu_read(struct pmu_sample *sample) {
    if (!present) {
        *sample = (struct pmu_sample){0};
        return;
    }
    const volatile struct device_page_sample *now = latch();
    sample->cycles = now->cycles;
    sample->instructions = now->instructions;
    for (unsigned i = 0; i < COUNTERS; i++)
        sample->counters[i] = now->counters[i];
}

uint64_t pmu_cycles(void) {
    return present ? latch()->cycles : 0;
}

const uint16_t *pmu_events(void) {
    return selected;
}

void pmu_select(const uint16_t events[COUNTERS]) {
    for (unsigned i = 0; i < COUNTERS; i++)
        page->counter_events[i] = selected[i] = events[i];
}

void pmu_pause(void) {
    page->pause = core_number();
}

void pmu_watch(const void *base, size_t bytes) {
    page->watch_base = (uintptr_t)base;
    page->watch_bytes = bytes; // takes effect here
}

void pmu_watch_read(uint64_t *accesses, uint64_t *refills) {
    latch();
    *accesses = *refills = 0;
    for (unsigned core = 0; core < BOARD_CORES; core++) {
        *accesses += page->core[core].watch_accesses;
        *refills += page->core[core].watch_refills;
    }
}

void pmu_team(unsigned cores) {
    page->sync_cores = cores;
}

void pmu_arrive(void) {
    page->sync_arrive = core_number();
}

void pmu_depart(void) {
    page->sync_depart = core_number();
}

void pmu_arrival(unsigned core, uint64_t *cycles, struct pmu_delay *delay) {
    const volatile struct device_page_sample *at = &page->core[core];
    *cycles = at->arrived;
    *delay = (struct pmu_delay){(uint64_t)((int64_t)at->delay - at->waits), at->waits};
}

#endif
