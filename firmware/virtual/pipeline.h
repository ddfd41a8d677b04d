// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Mode `timed`: an out-of-order core, instruction by instruction in program order, each at the earliest time
// at which its operands, its pipe and the core's buffers let it go (after Sanchez and Kozyrakis, "ZSim", ISCA
// 2013).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "op.h"
#include "predictor.h"

enum {
    CALENDAR_WORDS = 4096, // of 8 cycles each: how far ahead of dispatch a micro-op can be placed
    ROB = 128,             // macro-operations: WikiChip, LLVM's Neoverse N1 model
    LOADS = 68,            // in flight: assumed
    STORES = 72,           // assumed
    QUEUE = 16,            // entries of an issue queue (AnandTech, from Arm), but of L0 and L1:
    LOAD_QUEUE = 12,
    RECENT_STORES = 256,
};

/// A store of eight bytes that may still be in the store buffer.
struct pending_store {
    uint64_t granule; // address / 8
    uint64_t ready;   // when its data are there
    uint64_t leaves;  // when they are in the cache
};

struct pipeline {
    uint64_t slot;      // when the next macro-operation is dispatched: four a cycle
    uint64_t retired;   // the next one's place
    uint64_t capped;    // the cycle that `caps` counts for
    uint32_t caps;      // as in struct op, plus 1 each
    unsigned rob_next, load_next, store_next;
    bool late;          // which of two latencies the next forwarded load has
    uint64_t ticks;     // of the core, as the pipeline left them
    uint64_t fetched;   // when the next instructions come out of fetch
    uint64_t window;    // the 32 bytes that were fetched last; 0 after a taken branch
    uint64_t resolved;  // when the last branch was executed
    uint64_t committed; // when the last store left the store buffer, in beats of half a cycle
    uint64_t stores_done;        // when all stores are in the cache
    uint64_t row;                // of the calendar: 64 cycles, the dispatch cycle's; those before are empty
    uint64_t limit;              // a cycle beyond the calendar's last one
    uint64_t waiting;            // a byte for each pipe's issue queue: entries in use, so that bit 7 says full
    uint64_t counted;            // the cycle up to which micro-ops that started have left `waiting`
    uint64_t last[PORTS];        // by pipe, of V0 to L1: start of the micro-op that came last
    uint64_t ready[OP_REGISTERS];      // when each register's value is there
    uint16_t forwarding[OP_REGISTERS]; // and how much earlier some can have it: as in struct op
    uint64_t rob[ROB];                 // the cycle in which each leaves it
    uint64_t load[LOADS], store[STORES];
    uint64_t busy[CALENDAR_WORDS]; // a byte for each cycle, a bit for each pipe (enum port): it is taken
    uint64_t held[CALENDAR_WORDS]; // of these: without an entry in the issue queue
    struct pending_store recent[RECENT_STORES];
    struct predictor predictor;
};

struct core;

/// Ends the process when there is no memory.
struct pipeline *pipeline_new(void);

/// The core executes `count` instructions of `block` from number `first` on. Advances the core's `ticks` to
/// the time at which the last of them retires. Where something else has advanced them, goes on from there.
void pipeline_run(struct core *core, const struct block *block, unsigned first, unsigned count);

/// The branch at the end of `block`, if there is one, has led to `next`.
void pipeline_branch(struct core *core, const struct block *block, uint64_t next);
