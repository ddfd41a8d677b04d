// SPDX-License-Identifier: Apache-2.0
// Counters of the core itself: PMUv3 with one 64-bit cycle counter and six 32-bit event counters (Cortex-A76
// TRM, chapter C2; Arm ARM D11).
#include "hal/pmu.h"

#include "arch/cpu.h"
#include "board_config.h"

#if !BOARD_HAS_DEVICE_PAGE

#define PMCR_ENABLE     (1u << 0)
#define PMCR_RESET      (1u << 1 | 1u << 2) // events, cycles
#define PMCR_LONG_CYCLE (1u << 6)           // the cycle counter overflows at 64 bits
#define CYCLE_COUNTER   (1u << 31)
#define EVENT_COUNTERS  ((1u << COUNTERS) - 1)
#define INST_RETIRED    0x08

static uint16_t selected[COUNTERS] = BOARD_PMU_EVENTS;
static unsigned selection; // its number: each core follows when it reads next, for it alone reaches its PMU

// The event counters wrap: what has been counted up to the last reading is kept here. A counter must be read
// at least once in 2^32 events, that is, every second or so while the core is busy.
static struct {
    _Alignas(CACHE_LINE) uint64_t total[COUNTERS];
    uint32_t last[COUNTERS];
    unsigned selection;
    uint64_t arrived;
} counted[BOARD_CORES];

static bool counting;

#define EVENT_REGISTERS(do)                                                                                  \
    do                                                                                                       \
    (0) do(1) do(2) do(3) do(4) do(5)

bool pmu_present(void) {
    unsigned version = (unsigned)(sysreg_read(id_aa64dfr0_el1) >> 8 & 15);
    unsigned number = (unsigned)(sysreg_read(pmcr_el0) >> 11 & 31);
    return version != 0 && version != 15 && number >= COUNTERS;
}

uint64_t pmu_hz(void) {
    return BOARD_COUNTER_HZ;
}

static void apply_selection(void) {
#define SELECT(n) sysreg_write(pmevtyper##n##_el0, selected[n]);
    EVENT_REGISTERS(SELECT)
#undef SELECT
    counted[core_number()].selection = selection;
}

void pmu_init(void) {
    counting = pmu_present();
    if (!counting)
        return;
    apply_selection();
    sysreg_write(pmccfiltr_el0, 0);
    sysreg_write(pmintenclr_el1, ~0u);
    sysreg_write(pmcntenset_el0, CYCLE_COUNTER | EVENT_COUNTERS);
    sysreg_write(pmcr_el0, PMCR_ENABLE | PMCR_RESET | PMCR_LONG_CYCLE);
    barrier_instruction();
}

static inline void add(uint64_t *total, uint32_t *last, uint32_t now) {
    *total += now - *last;
    *last = now;
}

void pmu_read(struct pmu_sample *sample) {
    if (!counting) {
        *sample = (struct pmu_sample){0};
        return;
    }
    uint64_t *total = counted[core_number()].total;
    uint32_t *last = counted[core_number()].last;
    if (counted[core_number()].selection != selection)
        apply_selection();
    barrier_instruction(); // counters are read after what comes before, not while it is in flight
    sample->cycles = sysreg_read(pmccntr_el0);
#define READ(n) add(&total[n], &last[n], (uint32_t)sysreg_read(pmevcntr##n##_el0));
    EVENT_REGISTERS(READ)
#undef READ
    sample->instructions = 0;
    for (unsigned i = 0; i < COUNTERS; i++) {
        sample->counters[i] = total[i];
        if (selected[i] == INST_RETIRED)
            sample->instructions = total[i];
    }
}

uint64_t pmu_cycles(void) {
    barrier_instruction();
    return counting ? sysreg_read(pmccntr_el0) : 0;
}

const uint16_t *pmu_events(void) {
    return selected;
}

void pmu_select(const uint16_t events[COUNTERS]) {
    for (unsigned i = 0; i < COUNTERS; i++)
        selected[i] = events[i];
    selection++;
}

void pmu_team(unsigned cores) {
    (void)cores;
}

void pmu_arrive(void) {
    counted[core_number()].arrived = pmu_cycles();
}

void pmu_depart(void) {}

void pmu_arrival(unsigned core, uint64_t *cycles, struct pmu_delay *delay) {
    *cycles = counted[core].arrived;
    *delay = (struct pmu_delay){0};
}

void pmu_pause(void) {}

void pmu_watch(const void *base, size_t bytes) {
    (void)base, (void)bytes;
}

void pmu_watch_read(uint64_t *accesses, uint64_t *refills) {
    *accesses = *refills = 0;
}

#endif
