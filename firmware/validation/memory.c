// SPDX-License-Identifier: Apache-2.0
// Latency of each level of the memory hierarchy, bandwidth on 1, 2 and 4 cores, and what a mispredicted
// branch costs. results[] hold: chains of loads, streams, branches, in the order of main().
#include "guest.h"

enum {
    CORES = 4,
    LINE = 64,
    PSCI_CPU_ON = 0xc4000003,
    LOADS = 20000, // of a chain
    BRANCHES = 40000
};

#define MIB        (UINT64_C(1) << 20)
#define POOL       (UINT64_C(0x48000000)) // beyond this program, on all virtual boards
#define CORE_BYTES (64 * MIB)             // from one core's memory to the next one's
#define COPY_FROM  (32 * MIB)             // of that, what is copied
#define STREAM     (16 * MIB)

struct result results[RESULTS];

void *chase(uint64_t loads, void *first);
void read_lines(uint64_t lines, void *memory);
void write_lines(uint64_t lines, void *memory);
void copy_lines(uint64_t lines, void *to, const void *from);
uint64_t branches(uint64_t count, const uint8_t *bytes);
void secondary_start(void);
void secondary_main(void);

static uint8_t stacks[CORES][4096] __attribute__((aligned(64)));
static uint32_t started, finished_cores,
    ticket; // cores that run; that have done the job under way; jobs given out
static void (*job)(unsigned core);
static unsigned team; // how many cores do it

/// A chain through `lines` lines, a power of two, in an order that no prefetcher follows, and back to where
/// it began; or its first LOADS.
static void measure_chain(int index, uint64_t lines) {
    const uint64_t links = lines < LOADS ? lines : LOADS;
    uint64_t place = 0;
    for (uint64_t n = 0; n < links; n++) {
        const uint64_t next = n + 1 < links ? (place * 1664525 + 1013904223) % lines : 0;
        *(uint64_t *)(POOL + place * LINE) = POOL + next * LINE;
        place = next;
    }
    if (links == lines)
        chase(links, (void *)POOL); // so that it is where it fits
    else
        read_lines(4 * MIB / LINE, (void *)(POOL + lines * LINE)); // so that nothing of it is near
    MEASURE(index, chase(LOADS, (void *)POOL));
}

/// A branch on each of some pseudo-random bytes, or on none of them.
static void measure_branches(int index, uint8_t bits) {
    uint8_t *bytes = (uint8_t *)POOL;
    uint64_t number = 1;
    for (unsigned n = 0; n < BRANCHES; n++) {
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407;
        bytes[n] = number >> 40 & bits;
    }
    branches(BRANCHES, bytes);
    MEASURE(index, branches(BRANCHES, bytes));
}

static void *own(unsigned core) {
    return (void *)(POOL + core * CORE_BYTES);
}

static void read_own(unsigned core) {
    read_lines(STREAM / LINE, own(core));
}

static void write_own(unsigned core) {
    write_lines(STREAM / LINE, own(core));
}

static void copy_own(unsigned core) {
    copy_lines(STREAM / LINE, own(core), (const uint8_t *)own(core) + COPY_FROM);
}

static void until(const uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        asm volatile("yield");
}

/// A core that does a job of each team it is in. Its clock stands in between.
void secondary_main(void) {
    const unsigned core =
        __atomic_add_fetch(&started, 1, __ATOMIC_ACQ_REL); // they come up one after the other
    PAGE->sync_arrive = core;
    for (uint32_t next = 1;; next++) {
        while (__atomic_load_n(&ticket, __ATOMIC_ACQUIRE) < next)
            asm volatile("yield");
        if (core >= team)
            continue;
        PAGE->sync_depart = core;
        job(core);
        PAGE->sync_arrive = core;
        __atomic_add_fetch(&finished_cores, 1, __ATOMIC_ACQ_REL);
    }
}

/// Returns when all of them have done it.
static void run_on(unsigned cores, void (*run)(unsigned core)) {
    job = run;
    team = cores;
    finished_cores = 0;
    PAGE->sync_cores = cores;
    __atomic_add_fetch(&ticket, 1, __ATOMIC_RELEASE);
    PAGE->sync_depart = 0;
    run(0);
    PAGE->sync_arrive = 0;
    until(&finished_cores, cores - 1);
    PAGE->sync_depart = 0;
}

static void start_core(unsigned core) {
    register uint64_t function asm("x0") = PSCI_CPU_ON;
    register uint64_t affinity asm("x1") = core;
    register uint64_t entry asm("x2") = (uintptr_t)secondary_start;
    register uint64_t stack asm("x3") = (uintptr_t)stacks[core] + sizeof stacks[core];
    asm volatile("hvc #0" : "+r"(function), "+r"(affinity), "+r"(entry), "+r"(stack)::"memory");
    until(&started, core);
}

int main(void) {
    static const uint64_t lines[] = {MIB / 32 / LINE, MIB / 4 / LINE, MIB / LINE, 128 * MIB / LINE};
    static void (*const jobs[])(unsigned) = {read_own, write_own, copy_own};
    static const unsigned teams[] = {1, 2, 4};
    int index = 0;
    for (unsigned n = 0; n < 4; n++)
        measure_chain(index++, lines[n]);
    for (unsigned core = 1; core < CORES; core++)
        start_core(core);
    for (unsigned j = 0; j < 3; j++) {
        for (unsigned n = 0; n < 3; n++) {
            run_on(teams[n], jobs[j]); // so that what the caches hold at first is the same
            MEASURE(index++, run_on(teams[n], jobs[j]));
        }
    }
    measure_branches(index++, 0);
    measure_branches(index++, 1);
    return 0;
}
