// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "memory.h"

#include <stdlib.h>

static const struct options *board;

static uint64_t ram_first, ram_lines, exceptions_first, exceptions_lines, transient_first, transient_lines;

void memory_init(const struct options *options) {
    board = options;
    ram_lines = UINT64_MAX; // user mode
    transient_first = options->transient.base >> LINE_SHIFT;
    transient_lines = options->transient.bytes >> LINE_SHIFT;
    if (!options->ram_path)
        return;
    ram_first = options->ram_base >> LINE_SHIFT;
    ram_lines = options->ram_bytes >> LINE_SHIFT;
    uint64_t first = options->device_page, end = first + 4096;
    for (unsigned i = 0; i < options->uncached_ranges; i++) {
        const uint64_t base = options->uncached[i].base, beyond = base + options->uncached[i].bytes;
        first = base < first ? base : first;
        end = beyond > end ? beyond : end;
    }
    exceptions_first = first >> LINE_SHIFT;
    exceptions_lines = (end - first + LINE_BYTES - 1) >> LINE_SHIFT;
}

void memory_init_core(struct core *core, const struct options *options) {
    const bool timed = options->timed;
    cache_init(&core->l1d, &options->l1d, timed);
    cache_init(&core->l2, &options->l2, timed);
    if (options->l3.bytes)
        cache_init(&core->l3, &options->l3, false);
    const size_t sets = (size_t)core->l1d.set_mask + 1;
    core->recent = malloc(sets * sizeof *core->recent);
    if (!core->recent)
        abort();
    for (size_t set = 0; set < sets; set++)
        core->recent[set] = NO_LINE;
    if (!timed)
        return;
    channel_init(&core->dram, DRAM_INTERVAL);
    channel_init(&core->l2_path, L2_INTERVAL);
    core->l1d_misses.count = options->outstanding_misses;
    core->l2_misses.count = options->outstanding_l2_misses;
    core->l2_overwrites.count = L2_OVERWRITES;
    tlb_init(&core->tlb, options);
}

/// Exceptions are few and close together, so that one comparison rules them out.
bool memory_cacheable(uint64_t line) {
    if (line - ram_first >= ram_lines)
        return false;
    if (__builtin_expect(line - exceptions_first >= exceptions_lines, 1))
        return true;
    const uint64_t address = line << LINE_SHIFT;
    if ((address & ~UINT64_C(4095)) == board->device_page)
        return false;
    for (unsigned i = 0; i < board->uncached_ranges; i++)
        if (address - board->uncached[i].base < board->uncached[i].bytes)
            return false;
    return true;
}

bool memory_uncached(struct core *core, bool load, unsigned units, uint64_t line) {
    struct counts *counts = &core->counts;
    const bool page = ((line << LINE_SHIFT) & ~UINT64_C(4095)) == board->device_page;
    if (page)
        *(load ? &counts->loads : &counts->stores) -= units;
    else
        *(load ? &counts->uncached_loads : &counts->uncached_stores) += units;
    return !page;
}

bool memory_transient(uint64_t line) {
    return line - transient_first < transient_lines;
}

static inline void log_below_l2(struct core *core, uint64_t now, uint64_t line, enum weave_kind kind) {
    if (__builtin_expect(core->log.entry != NULL, 0))
        weave_log(core, now, line, kind, 0, false);
}

/// A line leaves L1D because L2 loses it. Returns LINE_DIRTY if it was.
static uint32_t leave_l1d(struct core *core, uint64_t line) {
    const uint32_t above = cache_remove(&core->l1d, line);
    if (above == NO_LINE)
        return 0;
    core->recent[cache_index(&core->l1d, line)] = NO_LINE;
    return above & LINE_DIRTY;
}

/// Returns when the transfer begins.
static uint64_t write_dram(struct core *core, uint64_t now) {
    core->counts.dram_writes++;
    return channel_take(&core->dram, now, timing.dram_write[0]);
}

/// A line leaves L2: L1D must not keep it, L3 takes it in (a victim cache), and DRAM what is dirty. Returns
/// when a write to DRAM that this causes has begun.
static uint64_t leave_l2(struct core *core, uint64_t now, uint32_t entry) {
    const uint64_t line = entry >> 2;
    const uint32_t dirty = (entry | leave_l1d(core, line)) & LINE_DIRTY;
    core->counts.l2_writeback += dirty;
    core->counts.l2_evict += dirty || core->l3.entry;
    log_below_l2(core, now, line, dirty ? WEAVE_EVICT_DIRTY : WEAVE_EVICT);
    if (!core->l3.entry || memory_transient(line))
        return dirty ? write_dram(core, now) : now;
    uint32_t *held = cache_find(&core->l3, line);
    if (held) {
        *held |= dirty;
        cache_use(&core->l3, held);
        return now;
    }
    const uint32_t victim = cache_insert(&core->l3, line, dirty, 0);
    return victim != NO_LINE && victim & LINE_DIRTY ? write_dram(core, now) : now;
}

static uint64_t enter_l2(struct core *core, uint64_t now, uint64_t line, uint32_t flags, uint64_t ready) {
    const uint32_t victim = cache_insert(&core->l2, line, flags, ready);
    return victim == NO_LINE ? now : leave_l2(core, now, victim);
}

/// Takes a line out of L3. Between cores that share it, a dirty one stays, so that its state does not depend
/// on who reads it.
static bool take_from_l3(struct core *core, uint64_t line, uint32_t *flags) {
    if (!core->l3.entry)
        return false;
    core->counts.l3_access++;
    uint32_t *held = cache_find(&core->l3, line);
    core->counts.l3_refill += !held;
    if (!held)
        return false;
    if (core->log.entry && *held & LINE_DIRTY) {
        cache_use(&core->l3, held);
        return true;
    }
    *flags = *held & LINE_DIRTY;
    *held = NO_LINE;
    return true;
}

/// Brings a line into L2, which does not hold it.
static struct fill refill_l2(struct core *core, uint64_t now, uint64_t line, enum reason reason) {
    core->counts.l2_refill += reason != REASON_PREFETCH;
    core->counts.below_reads++;
    uint32_t flags = 0;
    const uint64_t begin = misses_wait(&core->l2_misses, now);
    struct fill fill = {LEVEL_L3, begin + timing.l3_wait};
    if (!take_from_l3(core, line, &flags) && !weave_held_elsewhere(core, line)) {
        core->counts.dram_reads++;
        fill.level = LEVEL_DRAM;
        fill.ready = channel_take(&core->dram, begin, timing.dram_read[0]) + timing.dram_wait;
    }
    misses_hold(&core->l2_misses, fill.ready);
    if (__builtin_expect(core->log.entry != NULL, 0))
        weave_log(core, begin, line, WEAVE_READ, fill.ready - begin, reason == REASON_LOAD);
    enter_l2(core, begin, line, flags, fill.ready);
    return fill;
}

/// A line leaves L1D for a newer one. L2, which holds it too, takes what is dirty.
static void displace(struct core *core, uint32_t entry) {
    const uint64_t line = entry >> 2;
    const uint32_t dirty = entry & LINE_DIRTY;
    const bool transient = memory_transient(line);
    core->counts.l1d_writeback += dirty;
    core->counts.l2_access += dirty;
    uint32_t *below = dirty || transient ? cache_find(&core->l2, line) : NULL;
    if (!below)
        return;
    *below |= dirty;
    (transient ? cache_release : cache_use)(&core->l2, below);
}

/// Adds a line, which L2 holds, to L1D.
static void enter_l1d(struct core *core, uint64_t line, uint32_t flags, uint64_t ready) {
    const uint32_t victim = cache_insert(&core->l1d, line, flags, ready);
    const bool settled = !(flags & LINE_PREFETCHED) && !core->l1d.ready;
    core->recent[cache_index(&core->l1d, line)] = settled ? tag_of(line) | flags : NO_LINE;
    if (victim != NO_LINE)
        displace(core, victim);
}

/// When L1D has a line that L2 holds as `entry`.
static uint64_t read_l2(struct core *core, uint64_t now, const uint32_t *entry) {
    cache_use(&core->l2, entry);
    if (!core->l2.ready)
        return 0;
    const uint64_t there = cache_ready(&core->l2, entry);
    const uint64_t read = channel_take(&core->l2_path, now, timing.l2_line) + timing.l2_wait;
    return there > read ? there : read;
}

struct fill memory_fetch(struct core *core, uint64_t now, uint64_t line, enum reason reason) {
    const uint64_t address = line << LINE_SHIFT;
    core->counts.l1d_refill++;
    core->counts.watch_refills += address + LINE_BYTES > core->watch_base && address < core->watch_end;
    core->counts.l2_access++;
    core->counts.l2_read++;
    const uint64_t begin = misses_wait(&core->l1d_misses, now);
    const uint32_t *entry = cache_find(&core->l2, line);
    struct fill fill = {LEVEL_L2, 0};
    if (entry)
        fill.ready = read_l2(core, begin, entry);
    else
        fill = refill_l2(core, begin, line, reason);
    misses_hold(&core->l1d_misses, fill.ready);
    if (reason == REASON_STORE && !(entry && *entry & LINE_DIRTY))
        memory_own(core, begin, line);
    enter_l1d(core, line, reason == REASON_STORE ? LINE_DIRTY : 0, fill.ready);
    return fill;
}

bool memory_prefetch(struct core *core, uint64_t now, uint64_t line, bool into_l1d, uint32_t flags) {
    if (!memory_cacheable(line))
        return true;
    const uint32_t *entry = cache_find(&core->l2, line); // L2 holds all that L1D holds
    uint64_t ready;
    if (!entry) {
        if (!misses_free(&core->l2_misses, now))
            return false;
        ready = refill_l2(core, now, line, REASON_PREFETCH).ready;
    } else if (!into_l1d || cache_find(&core->l1d, line)) {
        return true;
    } else {
        ready = read_l2(core, now, entry);
    }
    core->counts.l2_access++;
    core->counts.l2_read++;
    if (into_l1d)
        enter_l1d(core, line, flags, ready);
    return true;
}

void memory_own(struct core *core, uint64_t now, uint64_t line) {
    log_below_l2(core, now, line, WEAVE_OWN);
}

uint64_t memory_overwrite(struct core *core, uint64_t now, uint64_t line, bool into_l1d) {
    core->counts.l2_access++;
    uint32_t *entry = cache_find(&core->l2, line);
    uint64_t begin = now;
    if (entry) {
        if (!(*entry & LINE_DIRTY))
            memory_own(core, now, line);
        *entry |= LINE_DIRTY;
        cache_use(&core->l2, entry);
    } else {
        begin = misses_wait(&core->l2_overwrites, now);
        if (core->l3.entry)
            cache_remove(&core->l3, line);
        log_below_l2(core, begin, line, WEAVE_OVERWRITE);
        // Its place is taken once the line that had it is on its way.
        misses_hold(&core->l2_overwrites, enter_l2(core, begin, line, LINE_DIRTY, begin));
    }
    if (into_l1d)
        enter_l1d(core, line, LINE_DIRTY, begin);
    else if (memory_transient(line) && (entry = cache_find(&core->l2, line)) != NULL)
        cache_release(&core->l2, entry); // L1D never had it
    return begin;
}

uint64_t memory_clean(struct core *core, uint64_t now, uint64_t line, bool invalidate) {
    if (!memory_cacheable(line))
        return now;
    uint32_t dirty = 0;
    struct cache *const levels[] = {&core->l1d, &core->l2, &core->l3};
    for (unsigned n = 0; n < 3 && levels[n]->entry; n++) {
        uint32_t *entry = cache_find(levels[n], line);
        if (!entry)
            continue;
        dirty |= *entry & LINE_DIRTY;
        *entry = invalidate ? NO_LINE : *entry & ~(uint32_t)LINE_DIRTY;
        if (n == 0)
            core->recent[cache_index(&core->l1d, line)] = NO_LINE;
    }
    if (!dirty)
        return now;
    // It waits beside the cache for its turn on the bus, as a line does that makes room.
    const uint64_t begin = misses_wait(&core->l2_overwrites, now);
    core->counts.l2_writeback++;
    log_below_l2(core, begin, line, WEAVE_CLEAN);
    misses_hold(&core->l2_overwrites, write_dram(core, begin) + timing.dram_write[0]);
    return begin;
}

void memory_invalidate(struct core *core, uint64_t line) {
    leave_l1d(core, line);
    cache_remove(&core->l2, line);
}

bool memory_snoop(struct core *core, uint64_t line, bool *dirty) {
    uint32_t *entry = cache_find(&core->l2, line);
    *dirty = false;
    if (!entry)
        return false;
    uint32_t *above = cache_find(&core->l1d, line);
    *dirty = (*entry | (above ? *above : 0)) & LINE_DIRTY;
    if (*dirty) {
        *entry &= ~(uint32_t)LINE_DIRTY;
        if (above) {
            *above &= ~(uint32_t)LINE_DIRTY;
            core->recent[cache_index(&core->l1d, line)] = NO_LINE;
        }
    }
    return true;
}
