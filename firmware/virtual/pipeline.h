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
#include "replay.h"

enum {
    CALENDAR_WORDS = 4096, // of 8 cycles each: how far ahead of dispatch a micro-op can be placed
    ROB = 128,             // macro-operations: WikiChip, LLVM's Neoverse N1 model
    ROB_RING = 256,        // more than that, so that a byte counts it
    LOADS = 68,            // in flight: assumed
    STORES = 72,           // assumed
    QUEUE = 16,            // entries of an issue queue (AnandTech, from Arm), but of L0 and L1:
    LOAD_QUEUE = 12,
    RECENT_STORES = 256,
    RUN_AHEAD = 8 * CYCLE, // windows, one a cycle, that fetch may be ahead of dispatch: assumed
    LONGEST =
        2048 * CYCLE, // that one micro-op may be ahead of the next: beyond, the calendar is made to follow
    ROW = 64 * CYCLE, // of the calendar, which is emptied by rows
    ROWS = CALENDAR_WORDS * 64 / ROW,
    SETTLE_SHIFT = 20, // idle pipes become alike every 1 << 20 rows
    STRAYS = 64,
};

/// A store of eight bytes that may still be in the store buffer.
struct pending_store {
    uint64_t granule; // address / 8
    uint64_t ready;   // when its data are there
    uint64_t leaves;  // when they are in the cache
};

/// What every instruction moves on: apart from the rest, so that it can be held in registers.
struct front {
    uint64_t slot;    // when the next macro-operation is dispatched: four a cycle
    uint64_t retired; // the next one's place
    uint64_t waiting; // a byte for each pipe's issue queue: entries in use, so that bit 7 says full
    unsigned rob_next;
};

struct pipeline {
    struct front front;
    uint64_t stalled,
        starved;     // ticks of the block under way in which nothing was dispatched: no room, nothing fetched
    uint64_t capped; // the cycle that `caps` counts for
    uint32_t caps;   // as in struct op, plus 1 each
    unsigned load_next, store_next;
    bool late;                    // which of two latencies the next forwarded load has
    uint64_t ticks;               // of the core, as the pipeline left them
    uint64_t fetched;             // when the next instructions come out of fetch
    uint64_t window;              // the 32 bytes that were fetched last; 0 after a taken branch
    uint64_t resolved;            // when the last branch was executed
    uint64_t committed;           // when the last store left the store buffer, in beats of half a cycle
    uint64_t stores_done;         // when all stores are in the cache
    uint64_t row;                 // of the calendar: 64 cycles, the dispatch cycle's; those before are empty
    uint64_t limit;               // a cycle beyond the calendar's last one
    uint64_t last[PORTS];         // by pipe, of V0 to L1: start of the micro-op that came last
    uint64_t ready[OP_REGISTERS]; // when each register's value is there
    uint16_t forwarding[OP_REGISTERS]; // and how much earlier some can have it: as in struct op
    uint64_t rob[ROB_RING];            // when each leaves it
    uint64_t load[LOADS], store[STORES];
    uint64_t busy[CALENDAR_WORDS]; // a byte for each cycle, a bit for each pipe (enum port): it is taken
    uint64_t held[CALENDAR_WORDS]; // of these: without an entry in the issue queue
    struct pending_store recent[RECENT_STORES];
    struct predictor predictor;

    // Replaying: replay.h.
    struct automaton *automaton;
    struct state *state;    // where replaying goes on; NULL: the pipeline itself is up to date
    struct state *from;     // in which the block began that the pipeline executes; NULL: none that is kept
    bool replayed;          // since `state` was the pipeline's own
    bool late_start;        // of the block under way: a micro-op could be placed before the dispatch cycle
    bool irregular;         // of the block under way: something depended on absolute times
    int credit, pause;      // what replaying has saved, in instructions; blocks until it is tried again
    uint64_t base;          // the dispatch cycle when the block began
    uint64_t replay_end;    // no replaying from there on
    uint64_t furthest;      // a cycle up to which pipes may be taken, like `retired`
    uint64_t blind;         // not all strays are known before this cycle
    uint64_t stray[STRAYS]; // cycles of bits that were set in rows that had been passed, so that they come
                            // into effect one round of the calendar later
    unsigned first_stray, strays;
    unsigned calls, answers; // of the block under way: asked of memory; answered before
    struct call call[2 * BLOCK_INSNS];
};

struct core;

/// Ends the process when there is no memory.
struct pipeline *pipeline_new(void);

/// The core executes `count` instructions of `block` from number `first` on. Advances the core's `ticks` to
/// the time at which the last of them retires. Where something else has advanced them, goes on from there.
void pipeline_run(struct core *core, const struct block *block, unsigned first, unsigned count);

/// The branch at the end of `block`, if there is one, has led to `next`.
void pipeline_branch(struct core *core, const struct block *block, uint64_t next);

/// Both: all of `block`, and the branch at its end.
void pipeline_run_block(struct core *core, const struct block *block, uint64_t next);

/// What `call` asks of memory, at `at`: returns when it is done. `ready`: when a store's data are there.
uint64_t pipeline_call(struct core *core, struct pipeline *p, enum call_kind kind, const struct touch *touch,
                       uint64_t at, uint64_t ready);
