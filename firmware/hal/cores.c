// SPDX-License-Identifier: Apache-2.0
#include "hal/cores.h"

#include "arch/barrier.h"
#include "arch/cache.h"
#include "arch/cpu.h"
#include "arch/early.h"
#include "arch/psci.h"
#include "hal/gic.h"
#include "hal/idle.h"
#include "hal/pmu.h"

#define WAKE_INTERRUPT 0 // a software-generated one
// Looks at a word before the core sleeps. WFE waits between them on silicon, so that this is hundreds of
// events and never happens inside a job; on an emulator, whose WFE does nothing, it is some 10 us.
#define LOOKS                  200u
#define START_NAP_MICROSECONDS 200u
#define START_NAPS             5000u // a second

_Noreturn void secondary_main(void);

extern uint8_t secondary_start[], __stack_guard[], __stack_top[];

struct core_entry core_entry; // start.S reads it with the MMU off

// One line for each core, written by core 0 alone: the number of the last job that it was given.
static struct { _Alignas(CACHE_LINE) uint32_t number; } tickets[BOARD_CORES];

static struct {
    core_job *run;
    void *context;
    unsigned cores;
} job;

static struct barrier barrier;
static uint32_t ready;    // cores that have come up, core 0 left out
static uint32_t sleepers; // bit n: core n may be in WFI
static unsigned running = 1;
static bool busy;

/// Waits until *word is no longer `old`, and sees what was stored before it changed.
static void wait_for_change(const uint32_t *word, uint32_t old) {
    for (unsigned looks = LOOKS; looks != 0; looks--) {
        uint32_t now;
        // The exclusive load arms the monitor: a store to the word by another core is an event.
        __asm__ volatile("ldaxr %w0, [%1]" : "=&r"(now) : "r"(word) : "memory");
        if (now != old) {
            __asm__ volatile("clrex");
            return;
        }
        __asm__ volatile("wfe");
    }
    uint32_t self = 1u << core_number();
    __atomic_fetch_or(&sleepers, self, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == old) {
        wait_for_interrupt(); // one that came since the look ends it at once
        gic_acknowledge();
    }
    __atomic_fetch_and(&sleepers, ~self, __ATOMIC_RELAXED);
}

/// After a word has changed that cores of `waiting` may be waiting for: wakes those that sleep.
static void wake(uint32_t waiting) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST); // either they see the word, or they are seen here
    uint32_t asleep = __atomic_load_n(&sleepers, __ATOMIC_RELAXED) & waiting;
    if (asleep != 0)
        gic_signal(asleep, WAKE_INTERRUPT);
}

/// The caller waits for all of `cores` cores; when it is the last, it wakes those of `waiting`.
static void meet(unsigned cores, uint32_t waiting) {
    uint32_t sense = barrier_sense(&barrier);
    pmu_arrive();
    if (barrier_arrive(&barrier, cores))
        wake(waiting & ~(1u << core_number()));
    else
        wait_for_change(&barrier.sense, sense);
    pmu_depart();
}

void cores_meet(unsigned cores) {
    if (cores > 1)
        meet(cores, (1u << cores) - 1);
}

void cores_run(unsigned cores, core_job *run, void *context) {
    busy = true;
    job.run = run;
    job.context = context;
    job.cores = cores;
    pmu_team(cores);
    if (cores > 1) {
        for (unsigned core = 1; core < cores; core++)
            __atomic_store_n(&tickets[core].number, tickets[core].number + 1, __ATOMIC_RELEASE);
        wake((1u << cores) - 1);
        pmu_depart();
    }
    run(context, (struct share){0, cores});
    if (cores > 1)
        meet(cores, 0); // the others do not wait for each other, but for the next job
    busy = false;
}

bool cores_busy(void) {
    return busy;
}

unsigned cores_running(void) {
    return running;
}

int64_t core_start(unsigned core) {
    static const uint64_t ids[] = BOARD_CORE_IDS;
    uint64_t stride = (uint64_t)(__stack_top - __stack_guard);
    uint32_t before = __atomic_load_n(&ready, __ATOMIC_RELAXED);
    gic_wake_by(WAKE_INTERRUPT);
    core_entry.root = sysreg_read(ttbr0_el1);
    core_entry.stack = (uintptr_t)__stack_top + core * stride;
    core_entry.core = core;
    cache_clean(&core_entry, sizeof core_entry);
    int64_t error = psci_call(PSCI_CPU_ON, ids[core], (uintptr_t)secondary_start, (uintptr_t)&core_entry);
    if (error != PSCI_SUCCESS)
        return error;
    unsigned naps = 0;
    do { // once at least: what is modeled must not depend on who was faster
        if (naps++ == START_NAPS)
            return CORE_SILENT;
        idle(START_NAP_MICROSECONDS);
    } while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) == before);
    (void)pmu_cycles(); // and it goes on here
    running = core + 1;
    return 0;
}

/// Called by start.S on every core but the first, on its own stack, with the MMU on.
void secondary_main(void) {
    unsigned core = core_number();
    unmask_aborts();
    idle_init();
    gic_wake_by(WAKE_INTERRUPT);
    pmu_init();
    pmu_arrive();
    uint32_t seen = __atomic_load_n(&tickets[core].number, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
    for (;;) {
        wait_for_change(&tickets[core].number, seen);
        seen++;
        pmu_depart();
        unsigned cores = job.cores;
        job.run(job.context, (struct share){core, cores});
        pmu_arrive();
        if (barrier_arrive(&barrier, cores))
            wake(1); // core 0
    }
}
