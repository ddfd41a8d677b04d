// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Caches, prefetcher and DRAM of one core.
//
// Misses: an independent miss to L3 or DRAM costs its latency, and hides further independent ones that follow
// within one reorder window (interval analysis: Eyerman, Eeckhout, Karkhanis, Smith, "A mechanistic
// performance model for superscalar out-of-order processors", ACM TOCS 27(2), 2009). A miss whose address was
// loaded just before costs its whole latency always. Stores wait for nothing but bandwidth.
#include <stdlib.h>

#include "core.h"

enum {
    WINDOW = 128,   // reorder buffer, instructions: Cortex-A76 (WikiChip), LLVM's Neoverse N1 model
    OVERLAP_L2 = 4, // independent L2 hits in flight that an out-of-order core hides: assumed; 2 cycles a line
                    // remain, which is the 32 bytes per cycle of the L2's read path (Cortex-A76 TRM)
    PREFETCH_LINES = 8,  // distance of the stride prefetcher: assumed
    SEQUENCE_LINES = 16, // how far ahead a sequential stream is fetched: assumed
    SEQUENCE_STEP = 4,   // lines by which it may advance at once: assumed
    CONFIDENT = 2,       // equal strides before it starts: assumed
    LONGEST_STRIDE = 64  // lines: assumed
};

enum level { LEVEL_L2, LEVEL_L3, LEVEL_DRAM };

static const struct options *board;

static uint64_t ram_first, ram_lines, exceptions_first, exceptions_lines;

void memory_init(const struct options *options) {
    board = options;
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

// Exceptions are few and close together, so that one comparison rules them out.
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

static void wait(struct core *core, uint64_t ticks) {
    core->ticks += ticks;
    core->counts.stall_ticks += ticks;
}

static void dram_transfer(struct core *core) {
    core->dram_free = (core->dram_free > core->ticks ? core->dram_free : core->ticks) + timing.dram_line;
    if (core->dram_free > core->ticks + timing.dram_backlog)
        wait(core, core->dram_free - timing.dram_backlog - core->ticks);
}

void core_drain(struct core *core) {
    if (core->dram_free > core->ticks)
        wait(core, core->dram_free - core->ticks);
}

static void dram_write(struct core *core) {
    core->counts.dram_writes++;
    dram_transfer(core);
}

/// A line leaves L2: L1D must not keep it, L3 takes it in (a victim cache), and DRAM what is dirty.
static void leave_l2(struct core *core, uint32_t entry) {
    const uint64_t line = entry >> 2;
    const uint32_t above = cache_remove(&core->l1d, line);
    if (above != NO_LINE) {
        entry |= above & LINE_DIRTY;
        core->recent[cache_index(&core->l1d, line)] = NO_LINE;
    }
    const uint32_t dirty = entry & LINE_DIRTY;
    core->counts.l2_writeback += dirty;
    if (!core->l3.entry) {
        if (dirty)
            dram_write(core);
        return;
    }
    uint32_t *held = cache_find(&core->l3, line);
    if (held) {
        *held |= dirty;
        cache_use(&core->l3, held);
        return;
    }
    const uint32_t victim = cache_insert(&core->l3, line, dirty);
    if (victim != NO_LINE && victim & LINE_DIRTY)
        dram_write(core);
}

static void enter_l2(struct core *core, uint64_t line, uint32_t flags) {
    const uint32_t victim = cache_insert(&core->l2, line, flags);
    if (victim != NO_LINE)
        leave_l2(core, victim);
}

/// Brings a line into L2, which does not hold it. Returns where it was.
static enum level refill_l2(struct core *core, uint64_t line, bool demand) {
    core->counts.l2_refill += demand;
    enum level level = LEVEL_DRAM;
    uint32_t flags = 0;
    if (core->l3.entry) {
        core->counts.l3_access++;
        const uint32_t held = cache_remove(&core->l3, line);
        if (held != NO_LINE) {
            flags = held & LINE_DIRTY;
            level = LEVEL_L3;
        } else {
            core->counts.l3_refill++;
        }
    }
    if (level == LEVEL_DRAM) {
        core->counts.dram_reads++;
        dram_transfer(core);
    }
    enter_l2(core, line, flags);
    return level;
}

/// Adds a line, which L2 holds, to L1D.
static void enter_l1d(struct core *core, uint64_t line, uint32_t flags) {
    const uint32_t victim = cache_insert(&core->l1d, line, flags);
    core->recent[cache_index(&core->l1d, line)] = flags & LINE_PREFETCHED ? NO_LINE : tag_of(line) | flags;
    if (victim == NO_LINE || !(victim & LINE_DIRTY))
        return;
    core->counts.l1d_writeback++;
    core->counts.l2_access++;
    uint32_t *below = cache_find(&core->l2, victim >> 2);
    if (below) {
        *below |= LINE_DIRTY;
        cache_use(&core->l2, below);
    }
}

/// Brings a line into L2 and, with `flags` for its entry, into L1D, ahead of its use.
static void prefetch(struct core *core, uint64_t line, bool into_l1d, uint32_t flags) {
    if (!memory_cacheable(line))
        return;
    const uint32_t *entry = cache_find(&core->l2, line); // L2 holds all that L1D holds
    if (!entry)
        refill_l2(core, line, false);
    else if (!into_l1d || cache_find(&core->l1d, line))
        return;
    else
        cache_use(&core->l2, entry);
    core->counts.l2_access++;
    if (into_l1d)
        enter_l1d(core, line, flags);
}

/// A sequential stream, whichever instructions read it: `line` continues one if it lies at most a few lines
/// beyond the last that did. Then the lines ahead of it are fetched.
static bool follow_stream(struct core *core, uint32_t line) {
    for (struct sequence *s = core->sequence; s < core->sequence + SEQUENCES; s++) {
        const uint32_t step = line - s->last;
        if (step - 1 >= SEQUENCE_STEP)
            continue;
        s->last = line;
        if (s->confidence < CONFIDENT && ++s->confidence < CONFIDENT)
            return true;
        const uint32_t ahead = line + SEQUENCE_LINES;
        for (uint32_t next = s->ahead - line - 1 < SEQUENCE_LINES ? s->ahead : line + 1; next <= ahead;
             next++)
            prefetch(core, next, true, LINE_PREFETCHED);
        s->ahead = ahead + 1;
        return true;
    }
    return false;
}

/// A load missed, or was the first to use a prefetched line: the prefetcher learns, and runs ahead.
static void train(struct core *core, const struct range *range, uint64_t line) {
    struct stream *stream = &core->stream[range->site];
    const int32_t stride = (int32_t)((uint32_t)line - stream->last);
    stream->last = (uint32_t)line;
    if (follow_stream(core, (uint32_t)line))
        return;
    core->sequence[core->next_sequence++ % SEQUENCES] = (struct sequence){.last = (uint32_t)line};
    if (stride != stream->stride) {
        stream->stride = stride;
        stream->confidence = 1;
        stream->lead = 0;
        return;
    }
    if (!stride || stride > LONGEST_STRIDE || stride < -LONGEST_STRIDE)
        return;
    if (stream->confidence < CONFIDENT && ++stream->confidence < CONFIDENT)
        return;
    const unsigned lead = stream->lead ? stream->lead - 1u : 0; // `line` itself was the first of them
    for (unsigned n = lead + 1; n <= PREFETCH_LINES; n++)
        prefetch(core, line + (uint64_t)((int64_t)stride * n), true, LINE_PREFETCHED);
    stream->lead = PREFETCH_LINES;
}

/// True while the site writes whole lines one after the other: such lines go to L2 without being read.
static bool write_streams(struct core *core, const struct range *range, uint64_t line) {
    struct stream *stream = &core->stream[range->site];
    if ((uint32_t)line == stream->last)
        return stream->streaming; // the rest of a line
    const bool next = (uint32_t)line == stream->last + 1;
    const bool whole = next && stream->written >= LINE_BYTES;
    stream->confidence = whole ? stream->confidence + (stream->confidence < CONFIDENT) : 0;
    stream->streaming = stream->confidence == CONFIDENT;
    stream->last = (uint32_t)line;
    stream->written -= next && stream->written >= LINE_BYTES ? LINE_BYTES : stream->written;
    return stream->streaming;
}

/// A whole line is written: L2 takes it without reading it from below.
static void overwrite(struct core *core, uint64_t line) {
    core->counts.l2_access++;
    uint32_t *entry = cache_find(&core->l2, line);
    if (entry) {
        *entry |= LINE_DIRTY;
        cache_use(&core->l2, entry);
        return;
    }
    if (core->l3.entry)
        cache_remove(&core->l3, line);
    enter_l2(core, line, LINE_DIRTY);
}

static void wait_for(struct core *core, const struct range *range, enum level level) {
    if (level == LEVEL_L2) {
        wait(core, range->dependent ? timing.l2_wait : timing.l2_wait / OVERLAP_L2);
        return;
    }
    const uint64_t at = core->block_start + range->insn;
    if (!range->dependent && at < core->shadow_end && ++core->shadow_misses < board->outstanding_misses)
        return;
    wait(core, level == LEVEL_L3 ? timing.l3_wait : timing.dram_wait);
    core->shadow_end = at + WINDOW;
    core->shadow_misses = 0;
}

/// Devices and non-cacheable memory. The device page itself leaves no trace in any count.
static void uncached(struct core *core, const struct range *range, uint64_t address, uint64_t line) {
    const bool page = ((line << LINE_SHIFT) & ~UINT64_C(4095)) == board->device_page;
    const uint64_t begin = line << LINE_SHIFT;
    const uint32_t units = range_units(range, address, begin, begin + LINE_BYTES);
    uint64_t *executed = range->kind == ACCESS_LOAD ? &core->counts.loads : &core->counts.stores;
    uint64_t *apart =
        range->kind == ACCESS_LOAD ? &core->counts.uncached_loads : &core->counts.uncached_stores;
    if (page)
        *executed -= units;
    else
        *apart += units;
}

static void miss(struct core *core, const struct range *range, uint64_t line) {
    const uint64_t address = line << LINE_SHIFT;
    core->counts.l1d_refill++;
    core->counts.watch_refills += address + LINE_BYTES > core->watch_base && address < core->watch_end;
    core->counts.l2_access++;
    enum level level = LEVEL_L2;
    const uint32_t *entry = cache_find(&core->l2, line);
    if (entry)
        cache_use(&core->l2, entry);
    else
        level = refill_l2(core, line, true);
    enter_l1d(core, line, range->dirties ? LINE_DIRTY : 0);
    if (range->kind == ACCESS_LOAD) {
        wait_for(core, range, level);
        train(core, range, line);
    }
}

void memory_init_core(struct core *core, const struct options *options) {
    cache_init(&core->l1d, &options->l1d);
    cache_init(&core->l2, &options->l2);
    if (options->l3.bytes)
        cache_init(&core->l3, &options->l3);
    const size_t sets = (size_t)core->l1d.set_mask + 1;
    core->recent = malloc(sets * sizeof *core->recent);
    if (!core->recent)
        abort();
    for (size_t set = 0; set < sets; set++)
        core->recent[set] = NO_LINE;
}

void memory_first_use(struct core *core, const struct range *range, uint64_t line) {
    if (range->kind == ACCESS_LOAD)
        train(core, range, line);
}

void memory_absent(struct core *core, const struct range *range, uint64_t address, uint64_t line) {
    if (!memory_cacheable(line)) {
        if (range->kind == ACCESS_LOAD || range->kind == ACCESS_STORE)
            uncached(core, range, address, line);
        return;
    }
    switch (range->kind) {
    case ACCESS_PREFETCH_L1:
    case ACCESS_PREFETCH_L2:
        prefetch(core, line, range->kind == ACCESS_PREFETCH_L1,
                 0); // its use later does not train the prefetcher
        break;
    case ACCESS_ZERO_LINE:
        overwrite(core, line);
        enter_l1d(core, line, LINE_DIRTY);
        break;
    case ACCESS_STORE:
        if (write_streams(core, range, line)) {
            overwrite(core, line);
            break;
        }
        miss(core, range, line);
        break;
    default:
        miss(core, range, line);
    }
}
