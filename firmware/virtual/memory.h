// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// What both modes of the model share below the tag look-up: how lines move between L1D, L2, L3 and DRAM, and
// what the prefetcher does. Times matter only to the timed mode; the fast one derives its waits from where
// lines were.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core.h"

enum {
    DRAM_INTERVAL = 10,
    L2_INTERVAL = 7
}; // ticks of the calendars' intervals, logarithms: about a line's transfer

enum {
    L2_OVERWRITES = 16
}; // lines of store streams that wait for the ones whose place they take to leave: assumed

enum level { LEVEL_L2, LEVEL_L3, LEVEL_DRAM };

/// Why a line is brought in.
enum reason { REASON_LOAD, REASON_STORE, REASON_PREFETCH };

struct fill {
    enum level level; // where the line was
    uint64_t ready;   // when it is there
};

/// Whether a line is of memory that is mapped write-back transient: L2 does not try to keep it once L1D has
/// let go of it, and L3 does not take it (Neoverse N1 TRM 7.4.1, of a core with the same L1D as Cortex-A76).
bool memory_transient(uint64_t line);

/// Accounts for accesses to a device or to non-cacheable memory. Those to the device page leave no trace:
/// false.
bool memory_uncached(struct core *core, bool load, unsigned units, uint64_t line);

/// A load or store misses L1D.
struct fill memory_fetch(struct core *core, uint64_t now, uint64_t line, enum reason reason);

/// A load uses a line of L1D at `now` that was prefetched or is on its way: `ready` tells when it is there.
static inline void memory_use(struct core *core, uint64_t now, uint64_t line, uint64_t ready) {
    if (__builtin_expect(core->log.entry != NULL, 0))
        weave_log(core, now, line, WEAVE_USE, ready > now ? ready - now : 0, true);
}

/// Brings a line into L2 and, where `into_l1d`, into L1D with `flags`, ahead of its use. False, and nothing
/// happens, where it would have to wait for a miss register.
bool memory_prefetch(struct core *core, uint64_t now, uint64_t line, bool into_l1d, uint32_t flags);

/// A whole line is written: L2, and L1D where `into_l1d`, take it without reading it from below. Returns when
/// they do.
uint64_t memory_overwrite(struct core *core, uint64_t now, uint64_t line, bool into_l1d);

/// Writes a line back to DRAM if it is dirty; takes it out of all caches where `invalidate`. Returns when the
/// line waits for the bus on its own.
uint64_t memory_clean(struct core *core, uint64_t now, uint64_t line, bool invalidate);

/// A line leaves this core's L1D and L2 because another core writes it.
void memory_invalidate(struct core *core, uint64_t line);

/// Another core reads a line. Whether this core's L1D and L2 hold it; and, where they hold it dirty, which
/// ends with that.
bool memory_snoop(struct core *core, uint64_t line, bool *dirty);

// prefetcher.c

/// A load missed, or was the first to use a prefetched line: the prefetcher learns, and runs ahead.
void prefetcher_train(struct core *core, uint64_t now, uint32_t site, uint64_t line);

/// The stream of stores that goes on with `bytes` of `line`, or a new one.
struct store_stream *prefetcher_follow_store(struct core *core, uint64_t line, unsigned bytes);

/// Whether the lines of a stream are written as a whole: they go to L2 without being read first.
static inline bool store_streams(const struct store_stream *stream) {
    return stream->confidence == STORE_CONFIDENT;
}

/// The same for a store that goes on where the last one was.
static inline struct store_stream *follow_store(struct core *core, uint64_t line, unsigned bytes) {
    struct store_stream *stream = &core->store_stream[core->storing];
    if (__builtin_expect(stream->line != (uint32_t)line, 0))
        return prefetcher_follow_store(core, line, bytes);
    stream->bytes += bytes;
    return stream;
}
