// SPDX-License-Identifier: Apache-2.0
// Barriers, hints and system registers of the calling core.
#pragma once

#include <stdint.h>

#define CACHE_LINE 64u // of every cache of a Cortex-A76

#define sysreg_read(name)                                                                                    \
    ({                                                                                                       \
        uint64_t value_;                                                                                     \
        __asm__ volatile("mrs %0, " #name : "=r"(value_));                                                   \
        value_;                                                                                              \
    })
#define sysreg_write(name, value) __asm__ volatile("msr " #name ", %0" ::"r"((uint64_t)(value)))

static inline void barrier_instruction(void) {
    __asm__ volatile("isb" ::: "memory");
}

/// Orders memory accesses against every observer, a debug probe included.
static inline void barrier_full(void) {
    __asm__ volatile("dmb sy" ::: "memory");
}
static inline void barrier_load(void) {
    __asm__ volatile("dmb ld" ::: "memory");
}
static inline void barrier_store(void) {
    __asm__ volatile("dmb st" ::: "memory");
}

/// Waits until every access before it has finished, not only been ordered.
static inline void barrier_complete(void) {
    __asm__ volatile("dsb sy" ::: "memory");
}

static inline void wait_for_interrupt(void) {
    __asm__ volatile("dsb sy\n\twfi" ::: "memory");
}

/// Number of the calling core, 0..BOARD_CORES - 1. start.S puts it there.
static inline unsigned core_number(void) {
    return (unsigned)sysreg_read(tpidr_el1);
}

/// Lets asynchronous external aborts be taken, so that a bus error is reported and not just lost.
static inline void unmask_aborts(void) {
    __asm__ volatile("msr daifclr, #4" ::: "memory");
}

/// Stops the core for good. Its timer is switched off, so that nothing keeps waking it.
_Noreturn void park(void);
