// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// One core's modeled state, and how executed blocks advance it. Between barriers (sync.h) cores share
// nothing: no locks, and no dependence on how the host schedules them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "cache.h"
#include "channel.h"
#include "options.h"
#include "pipeline.h"
#include "tlb.h"
#include "weave.h"

enum { MODEL_VERSION = 3 };

/// Everything that is counted, since start.
struct counts {
    uint64_t instructions;
    uint64_t loads, stores;                   // architecturally executed accesses
    uint64_t uncached_loads, uncached_stores; // of these, to non-cacheable memory and devices
    uint64_t l1d_refill, l1d_writeback;       // refills are demand misses: prefetches do not count
    uint64_t l2_access, l2_read, l2_refill, l2_writeback;
    uint64_t below_reads, l2_evict; // lines into L2 from below, prefetched ones included, and out of it
    uint64_t l3_access, l3_refill;
    uint64_t dram_reads, dram_writes; // lines, prefetches included
    uint64_t tlb_refill, tlb_walk;    // of the L1D TLB; page-table walks of L2's misses
    uint64_t
        stall_ticks; // fast: waiting for memory; timed: nothing dispatched, for want of room behind dispatch
    uint64_t fetch_ticks; // timed: nothing dispatched, for want of instructions
    uint64_t bound_ticks; // of the busiest pipe, block by block
    uint64_t branches, mispredicts;
    struct {
        uint64_t load, store, integer, vector, floating, branch;
    } mix; // timed: instructions by kind
    uint64_t watch_accesses, watch_refills;
    uint64_t undecoded; // instructions executed
};

/// What the prefetcher knows of one site: a range of a block, as a stand-in for the program counter.
struct stream {
    uint32_t last;  // line that missed, or was the first use of a prefetched line
    int32_t stride; // lines
    uint8_t lead;   // lines ahead of `last` that were prefetched
    uint8_t confidence;
};

/// A sequential stream of lines that loads follow, whatever their sites.
struct sequence {
    uint32_t last;
    uint32_t near, far; // the first lines that were not fetched, into L1D and into L2
    uint32_t confidence;
};

/// A sequential stream of stores, whatever their sites.
struct store_stream {
    uint32_t line;       // being written
    uint32_t bytes;      // of it, that were
    uint32_t confidence; // whole lines in a row before it, up to STORE_CONFIDENT
};

enum {
    SEQUENCES = 8,      // followed at once: assumed
    STORE_STREAMS = 8,  // assumed
    STORE_CONFIDENT = 2 // whole lines before the next ones are not read first: assumed
};

/// Costs derived from the options once, in ticks.
struct timing {
    uint64_t l2_wait, l3_wait, dram_wait; // beyond an L1D hit
    uint64_t l2_line;                     // transfer time of one line between L2 and L1D
    uint64_t dram_read[MODEL_CORES],
        dram_write[MODEL_CORES]; // and from and to DRAM, by how many cores use it, less 1
    // Mode `fast`: how far transfers may lag behind before the core waits; misses that another one hides
    uint64_t dram_backlog, shadow_misses;
};

struct core {
    const struct block *current; // executing; its cost is added when the next block starts
    uint16_t consumed;           // segments of `current` that were added already
    bool paused;                 // idle: from WFI to the next latch nothing is modeled
    bool stopped;                // waits at a barrier: likewise, and latches change nothing
    uint64_t ticks;
    uint64_t shadow_end; // instruction count up to which further misses overlap with the last one
    unsigned shadow_misses;
    uint64_t block_start; // instruction count at which the block under way began
    uint64_t watch_base, watch_end;
    uint64_t arrived_ticks; // at the last barrier, what the others cost the core included
    uint64_t delay_ticks;   // which is this much
    int64_t wait_ticks;     // and so much of it in waits for the NPU: those have become longer, or shorter
    uint64_t epoch;         // barriers that there had been when it last went on
    struct counts counts;
    struct cache l1d, l2, l3;
    uint32_t
        *recent; // by set of L1D: the entry used last, if using it again would change nothing; or NO_LINE
    struct stream *stream; // by site
    struct sequence sequence[SEQUENCES];
    struct store_stream store_stream[STORE_STREAMS];
    unsigned next_sequence, next_store_stream; // to be replaced
    unsigned storing;                          // the store stream that went on last
    struct channel dram, l2_path;
    struct misses l1d_misses, l2_misses, l2_overwrites; // without limit in mode `fast`
    struct pipeline *pipeline;                          // mode `timed`, else NULL
    struct tlb tlb;                                     // mode `timed`
    struct weave_log log;
    uint64_t slot[SLOTS];                // addresses that the anchors recorded; 0: not executed
    uint64_t first_address[BLOCK_INSNS]; // verification only: by instruction
    uint64_t verified, mismatched;
} __attribute__((aligned(64)));

extern struct core cores[MODEL_CORES];
extern struct timing timing;

/// Ends the process when there is no memory.
void core_init(const struct options *options);

/// A block begins: adds the cost of the one before.
void core_begin_block(struct core *core, const struct block *block);

/// The current block has executed its first `segments` segments: adds what was not added yet, and ends a
/// pause, unless the core waits at a barrier.
void core_catch_up(struct core *core, unsigned segments);

/// Lets all memory transfers finish, so that no interval between two calls holds more bytes than the bus can
/// carry.
void core_drain(struct core *core);

static inline uint64_t core_cycles(const struct core *core) {
    return core->ticks / TICKS_PER_CYCLE;
}

// events.c

/// Value of a PMU event; `known` is false, and the value 0, for events that the model does not have.
uint64_t core_event(const struct core *core, unsigned event, bool *known);

// memory_fast.c

/// `range`, which begins at `address`, touches `line`, which L1D does not hold.
void memory_absent(struct core *core, const struct range *range, uint64_t address, uint64_t line);

/// `range` is the first to use `line`, which had been prefetched into L1D.
void memory_first_use(struct core *core, const struct range *range, uint64_t line);

/// Of `units` accesses that make up `bytes` at `address`, those that fall into begin..end. Their sum over
/// adjacent intervals is exact.
static inline uint32_t units_within(uint32_t units, uint32_t bytes, uint64_t address, uint64_t begin,
                                    uint64_t end) {
    const uint64_t from = begin > address ? begin - address : 0;
    const uint64_t to = end > address ? end - address : 0;
    const uint64_t first = from < bytes ? from : bytes, last = to < bytes ? to : bytes;
    return (uint32_t)(last * units / bytes - first * units / bytes);
}

static inline uint32_t range_units(const struct range *range, uint64_t address, uint64_t begin,
                                   uint64_t end) {
    return units_within(range->units, range->bytes, address, begin, end);
}

/// `range`, which begins at `address`, stores to `line`.
void memory_follow_store(struct core *core, const struct range *range, uint64_t address, uint64_t line);

// memory.c

/// A line that was not dirty in L1D becomes so.
void memory_own(struct core *core, uint64_t now, uint64_t line);

/// Whether the caches may hold `line`.
bool memory_cacheable(uint64_t line);

void memory_init(const struct options *options);
void memory_init_core(struct core *core, const struct options *options);
