// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// One core's modeled state, and how executed blocks advance it. Cores share nothing: no locks, and no
// dependence on how the host schedules them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "cache.h"
#include "options.h"

enum { MODEL_VERSION = 1, MODEL_CORES = 4 };

/// Everything that is counted, since start.
struct counts {
    uint64_t instructions;
    uint64_t loads, stores;                   // architecturally executed accesses
    uint64_t uncached_loads, uncached_stores; // of these, to non-cacheable memory and devices
    uint64_t l1d_refill, l1d_writeback;       // refills are demand misses: prefetches do not count
    uint64_t l2_access, l2_refill, l2_writeback;
    uint64_t l3_access, l3_refill;
    uint64_t dram_reads, dram_writes; // lines, prefetches included
    uint64_t stall_ticks;             // waiting for memory
    uint64_t watch_accesses, watch_refills;
    uint64_t undecoded; // instructions executed
};

/// What the prefetcher knows of one site: a range of a block, as a stand-in for the program counter.
struct stream {
    uint32_t last;  // line that missed, or was the first use of a prefetched line
    int32_t stride; // lines
    uint8_t lead;   // lines ahead of `last` that were prefetched
    uint8_t confidence;
    bool streaming;   // stores: whole lines are written, so that none is read first
    uint32_t written; // stores: bytes, less those of whole lines
};

/// A sequential stream of lines that loads follow, whatever their sites.
struct sequence {
    uint32_t last;
    uint32_t ahead; // the first line that was not fetched
    uint32_t confidence;
};

enum { SEQUENCES = 8 }; // followed at once: assumed

/// Costs derived from the options once, in ticks.
struct timing {
    uint64_t l2_wait, l3_wait, dram_wait; // beyond an L1D hit
    uint64_t dram_line;                   // transfer time of one line
    uint64_t dram_backlog;                // how far transfers may lag behind before the core waits
};

struct core {
    const struct block *current; // executing; its cost is added when the next block starts
    uint16_t consumed;           // segments of `current` that were added already
    bool paused;                 // idle: from WFI to the next latch nothing is modeled
    uint64_t ticks;
    uint64_t dram_free;  // when the memory bus is idle again
    uint64_t shadow_end; // instruction count up to which further misses overlap with the last one
    unsigned shadow_misses;
    uint64_t block_start; // instruction count at which the block under way began
    uint64_t watch_base, watch_end;
    struct counts counts;
    struct cache l1d, l2, l3;
    uint32_t
        *recent; // by set of L1D: the entry used last, if using it again would change nothing; or NO_LINE
    struct stream *stream; // by site
    struct sequence sequence[SEQUENCES];
    unsigned next_sequence;              // to be replaced
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
/// pause.
void core_catch_up(struct core *core, unsigned segments);

/// Lets all memory transfers finish, so that no interval between two calls holds more bytes than the bus can
/// carry.
void core_drain(struct core *core);

static inline uint64_t core_cycles(const struct core *core) {
    return core->ticks / TICKS_PER_CYCLE;
}

/// Value of a PMU event; `known` is false, and the value 0, for events that the model does not have.
uint64_t core_event(const struct core *core, unsigned event, bool *known);

// memory.c

/// `range`, which begins at `address`, touches `line`, which L1D does not hold.
void memory_absent(struct core *core, const struct range *range, uint64_t address, uint64_t line);

/// `range` is the first to use `line`, which had been prefetched into L1D.
void memory_first_use(struct core *core, const struct range *range, uint64_t line);

/// Accesses of a range at `address` that fall into begin..end. Their sum over adjacent intervals is exact.
static inline uint32_t range_units(const struct range *range, uint64_t address, uint64_t begin,
                                   uint64_t end) {
    const uint64_t from = begin > address ? begin - address : 0;
    const uint64_t to = end > address ? end - address : 0;
    const uint64_t first = from < range->bytes ? from : range->bytes,
                   last = to < range->bytes ? to : range->bytes;
    return (uint32_t)(last * range->units / range->bytes - first * range->units / range->bytes);
}

void memory_init(const struct options *options);
void memory_init_core(struct core *core, const struct options *options);
