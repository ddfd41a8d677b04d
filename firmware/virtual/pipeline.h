// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Mode `timed`: an out-of-order core, instruction by instruction in program order, each at the earliest time
// at which its operands, its pipe and the core's buffers let it go (after Sanchez and Kozyrakis, "ZSim", ISCA
// 2013). Times are cycles of the core's clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "op.h"
#include "predictor.h"

enum {
    RING_ROWS = 512, // 64 cycles each: how far ahead of dispatch a micro-op can be placed
    ROB = 128,       // macro-operations: WikiChip, LLVM's Neoverse N1 model
    LOADS = 68,      // in flight: assumed
    STORES = 72,     // assumed
    QUEUE = 16,      // entries of an issue queue (AnandTech, from Arm), but of L0 and L1:
    LOAD_QUEUE = 12,
    RECENT_STORES = 256,
};

/// A store of eight bytes that may still be in the store buffer.
struct pending_store {
    uint64_t granule; // address / 8
    uint64_t ready;   // when its data are there
    uint64_t leaves;  // when they are in the cache
};

/// 64 cycles of all pipes, a bit each: the pipe is taken.
struct ring_row {
    uint64_t busy[PORTS];
};

/// An issue queue: when the micro-op in each entry starts, as the low 32 bits of the cycle. An entry is free
/// once that cycle has come.
struct queue {
    uint32_t starts[QUEUE] __attribute__((aligned(16)));
    uint32_t entries;
    uint32_t next; // entry to look at first: usually the oldest
    uint32_t last; // start of the micro-op that came last
    uint32_t full; // no entry is free before this cycle
} __attribute__((aligned(128)));

struct pipeline {
    uint64_t slot;      // 4 * cycle + how many macro-operations this cycle has taken in: the next one's place
    uint64_t capped;    // the cycle that `caps` counts for
    uint32_t caps;      // as in struct op, plus 1 each
    uint64_t retired;   // 4 * cycle + macro-operations: the next one's place
    uint64_t fetched;   // when the next instructions come out of fetch
    uint64_t window;    // the 32 bytes that were fetched last; 0 after a taken branch
    uint64_t resolved;  // when the last branch was executed
    uint64_t committed; // 2 * cycle + beats of 8 bytes: when the last store left the store buffer
    uint64_t stores_done;         // when all stores are in the cache
    uint64_t row;                 // of the ring: the one of the dispatch cycle; those before are empty again
    uint64_t limit;               // a cycle beyond the ring's last one
    uint64_t ready[OP_REGISTERS]; // when each register's value is there
    uint16_t forwarding[OP_REGISTERS]; // and how much earlier some can have it: as in struct op
    uint64_t rob[ROB];                 // when each leaves it
    uint64_t load[LOADS], store[STORES];
    unsigned rob_next, load_next, store_next;
    bool late; // which of two latencies the next forwarded load has
    struct queue queue[PORTS];
    struct ring_row ring[RING_ROWS] __attribute__((aligned(64)));
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
