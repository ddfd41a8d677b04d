// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The timed memory hierarchy: when the data of each access are there.
//
// All times are ticks of the core's own clock. Calls come in program order, but `now` need not grow from one
// to the next: an out-of-order core lets a later load go first. Addresses are below 64 GiB (a caller in user
// mode folds the others).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core.h"
#include "tlb.h"

/// The slow paths of the two below.
uint64_t hierarchy_load_slowly(struct core *core, uint64_t now, uint64_t address,
                               const struct hierarchy_access *access);
uint64_t hierarchy_store_slowly(struct core *core, uint64_t now, uint64_t address,
                                const struct hierarchy_access *access);

/// True where the access stays inside one line, which L1D has seen last in its set, and inside a page that
/// the L1D TLB holds: then nothing changes. `compares` are the flags of the line's entry that matter.
static inline bool hierarchy_hits(const struct core *core, uint64_t address, unsigned bytes, uint32_t wanted,
                                  uint32_t compares) {
    const uint64_t line = address >> LINE_SHIFT;
    const uint32_t recent = core->recent[cache_index(&core->l1d, line)];
    return !((recent ^ (tag_of(line) | wanted)) & compares) && !(line >> LINE_BITS) &&
           (address & (LINE_BYTES - 1)) + bytes <= LINE_BYTES && tlb_hits(&core->tlb, address);
}

/// A load pipe takes the load at `now`. Returns when its users could have the data, less the latency of an
/// L1D hit: `now` itself for a hit. Later for misses, for lines still on their way, while all miss registers
/// are in use, and after TLB misses.
static inline uint64_t hierarchy_load(struct core *core, uint64_t now, uint64_t address,
                                      const struct hierarchy_access *access) {
    if (__builtin_expect(hierarchy_hits(core, address, access->bytes, 0, ~(uint32_t)LINE_DIRTY), 1))
        return now;
    return hierarchy_load_slowly(core, now, address, access);
}

/// The store leaves the store buffer, in program order. Returns when its entry is free again: the line is
/// owned, or the store was passed on to L2. A store to a line on its way does not hold up the ones behind it.
static inline uint64_t hierarchy_store(struct core *core, uint64_t now, uint64_t address,
                                       const struct hierarchy_access *access) {
    const uint64_t line = address >> LINE_SHIFT;
    if (__builtin_expect((uint32_t)line == core->store_stream[core->storing].line &&
                             hierarchy_hits(core, address, access->bytes, LINE_DIRTY, ~UINT32_C(0)),
                         1)) {
        core->store_stream[core->storing].bytes += access->bytes;
        return now;
    }
    return hierarchy_store_slowly(core, now, address, access);
}

/// PRFM into L1D (`level` 1) or L2 (2, 3). Returns when the line fill has started, which is when it retires.
uint64_t hierarchy_prefetch(struct core *core, uint64_t now, uint64_t address, unsigned level);

/// DC ZVA of the line at `address`. Returns as hierarchy_store.
uint64_t hierarchy_zero_line(struct core *core, uint64_t now, uint64_t address);

/// DC CVAC, and DC CIVAC where `invalidate`. Returns as hierarchy_store.
uint64_t hierarchy_clean(struct core *core, uint64_t now, uint64_t address, bool invalidate);

/// When all memory traffic under way at `now` is finished, write-backs and prefetches included.
uint64_t hierarchy_drained(const struct core *core, uint64_t now);

// Several cores. Between two barriers each runs as if alone, and what goes below its L2 is logged.

/// How many cores run from now on; the others stand still. Until it is first called with more than one,
/// nothing is logged, and hierarchy_weave does nothing.
void hierarchy_share(unsigned cores);

/// All cores of `mask` (bit n: cores[n]) stand still, and no other one is modeled meanwhile. Merges their
/// logs, in the order of modeled time, through one L3 and one memory channel; advances each one's `ticks` by
/// what it lost to the others; takes from each the lines that another one has written. The result depends
/// only on the logs.
void hierarchy_weave(unsigned mask);
