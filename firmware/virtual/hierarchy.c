// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "hierarchy.h"

#include "memory.h"

enum { CROSSING = TICKS_PER_CYCLE }; // an access that crosses a line: a second look-up, assumed

static inline uint64_t latest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline uint64_t translated(struct core *core, uint64_t now, uint64_t address) {
    return tlb_hits(&core->tlb, address) ? now : now + tlb_translate(&core->tlb, &core->counts, address);
}

/// Uses `entry` of L1D, which becomes dirty where `dirties`. Returns what it was; and when its line is there.
static uint32_t use(struct core *core, uint64_t now, uint32_t *entry, uint32_t dirties, uint64_t *ready) {
    cache_use(&core->l1d, entry);
    const uint32_t was = *entry;
    *entry = (was & ~(uint32_t)LINE_PREFETCHED) | dirties;
    *ready = cache_ready(&core->l1d, entry);
    core->recent[cache_index(&core->l1d, was >> 2)] = *ready <= now ? *entry : NO_LINE;
    return was;
}

static uint64_t load_line(struct core *core, uint64_t now, uint64_t line,
                          const struct hierarchy_access *access) {
    uint32_t *entry = line >> LINE_BITS ? NULL : cache_find(&core->l1d, line);
    uint64_t ready;
    if (entry) {
        const uint32_t was = use(core, now, entry, 0, &ready);
        if (was & LINE_PREFETCHED || ready > now)
            memory_use(core, now, line, ready);
        if (was & LINE_PREFETCHED)
            prefetcher_train(core, now, access->site, line);
    } else if (memory_cacheable(line)) {
        ready = memory_fetch(core, now, line, REASON_LOAD).ready;
        prefetcher_train(core, now, access->site, line);
    } else {
        ready = now;
        if (memory_uncached(core, true, access->units, line))
            ready += timing.dram_wait;
    }
    return latest(now, ready);
}

uint64_t hierarchy_load_slowly(struct core *core, uint64_t now, uint64_t address,
                               const struct hierarchy_access *access) {
    const uint64_t line = address >> LINE_SHIFT, last = (address + access->bytes - 1) >> LINE_SHIFT;
    now = translated(core, now, address);
    uint64_t ready = load_line(core, now, line, access);
    for (uint64_t next = line + 1; next <= last; next++) {
        now = translated(core, now + CROSSING, next << LINE_SHIFT);
        ready = latest(ready, load_line(core, now, next, access));
    }
    return ready;
}

static uint64_t store_line(struct core *core, uint64_t now, uint64_t line, unsigned bytes, unsigned units) {
    const struct store_stream *stream = follow_store(core, line, bytes);
    uint32_t *entry = line >> LINE_BITS ? NULL : cache_find(&core->l1d, line);
    if (entry) { // if its line is on the way, the data wait for it beside the cache
        uint64_t ready;
        if (!(use(core, now, entry, LINE_DIRTY, &ready) & LINE_DIRTY))
            memory_own(core, now, line);
        return now;
    }
    if (!memory_cacheable(line)) {
        memory_uncached(core, false, units, line);
        return now;
    }
    if (!store_streams(stream))
        return memory_fetch(core, now, line, REASON_STORE).ready;
    return stream->bytes == bytes ? memory_overwrite(core, now, line, false) : now; // the line's first store
}

uint64_t hierarchy_store_slowly(struct core *core, uint64_t now, uint64_t address,
                                const struct hierarchy_access *access) {
    const uint64_t end = address + access->bytes;
    uint64_t done = now;
    for (unsigned units = access->units; address < end; units = 0) {
        const uint64_t line = address >> LINE_SHIFT, next = (line + 1) << LINE_SHIFT;
        const uint64_t until = next < end ? next : end;
        now = translated(core, now, address);
        done = latest(done, store_line(core, now, line, (unsigned)(until - address), units));
        address = until;
    }
    return done;
}

uint64_t hierarchy_prefetch(struct core *core, uint64_t now, uint64_t address, unsigned level) {
    const uint64_t line = address >> LINE_SHIFT;
    now = translated(core, now, address);
    if (cache_find(&core->l1d, line))
        return now;
    uint64_t begin = level == 1 ? misses_wait(&core->l1d_misses, now) : now;
    if (!memory_prefetch(core, begin, line, level == 1, 0)) { // (its use later does not train the prefetcher)
        begin = misses_wait(&core->l2_misses, begin);
        memory_prefetch(core, begin, line, level == 1, 0);
    }
    const uint32_t *entry = level == 1 ? cache_find(&core->l1d, line) : NULL;
    if (entry)
        misses_hold(&core->l1d_misses, cache_ready(&core->l1d, entry));
    return begin;
}

uint64_t hierarchy_zero_line(struct core *core, uint64_t now, uint64_t address) {
    const uint64_t line = address >> LINE_SHIFT;
    now = translated(core, now, address);
    uint32_t *entry = cache_find(&core->l1d, line);
    if (!entry)
        return memory_cacheable(line) ? memory_overwrite(core, now, line, true) : now;
    uint64_t ready;
    if (!(use(core, now, entry, LINE_DIRTY, &ready) & LINE_DIRTY))
        memory_own(core, now, line);
    return now;
}

uint64_t hierarchy_clean(struct core *core, uint64_t now, uint64_t address, bool invalidate) {
    return memory_clean(core, translated(core, now, address), address >> LINE_SHIFT, invalidate);
}

uint64_t hierarchy_drained(const struct core *core, uint64_t now) {
    const uint64_t fetched = latest(misses_end(&core->l1d_misses), misses_end(&core->l2_misses));
    return latest(latest(now, core->dram.end), fetched);
}
