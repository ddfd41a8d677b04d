// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// User mode: a Linux program's threads on the modeled cores, its functions as regions, and the results.
//
// There is no device page here. The functions that matter are named by their addresses; a thread's calls and
// returns are followed, so that it is known at any time which of them it is in, however it is left.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "core.h"
#include "options.h"

/// A block, and what following calls needs to know of it.
struct place {
    struct block *block;
    uint64_t after; // address behind its last instruction
    enum flow { FLOW_ON, FLOW_CALLS, FLOW_RETURNS } flow;
    uint8_t mark; // number of the mark whose function begins here, plus 1; or 0
};

/// What happened between two moments on one core.
struct tally {
    uint64_t calls, ticks;
    uint64_t waiting; // ticks of standing at barriers, contained in `ticks`
    struct counts counts;
};

/// What a callback's vCPU number stands for: the thread's core, or one that nobody looks at.
enum { USER_VCPUS = 1024 };
extern struct core *user_core[USER_VCPUS + 1];

static inline struct core *user_core_of(unsigned vcpu) {
    return user_core[vcpu < USER_VCPUS ? vcpu : USER_VCPUS];
}

/// Opens the file of results. Returns NULL, or what went wrong.
const char *user_open(const struct options *options);

void user_thread_begins(unsigned vcpu);
void user_thread_ends(unsigned vcpu);

/// Called at translation, with its lock held. Never freed.
struct place *user_place(struct block *block);

/// A block begins.
void user_block(unsigned vcpu, const struct place *place);

/// The program ends: writes the results.
void user_end(void);

// user_barrier.c

/// The core has reached a barrier, and its clock stands. Returns which one, for the departure.
unsigned user_barrier_arrive(struct core *core);

/// The core leaves barrier `instance`: its clock becomes that of the latest one to arrive.
void user_barrier_depart(struct core *core, unsigned instance);

/// When the last barrier was left, in ticks: where a thread that wakes up from idling goes on.
uint64_t user_barrier_released(void);

// user_results.c

const char *results_open(const char *path);
void results_progress(void);
void results_thread(unsigned vcpu, unsigned core, const struct tally *tally);
void results_region(unsigned vcpu, uint64_t address, const struct tally *tally, const uint64_t *cycles,
                    unsigned calls);
void results_end(unsigned threads, unsigned unmodeled);
