// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "core.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "report.h"

struct core cores[MODEL_CORES];
struct timing timing;

static const struct block nothing; // what a core executed before its first block

static uint64_t beyond(unsigned latency, unsigned hit) {
    return latency > hit ? (uint64_t)(latency - hit) * TICKS_PER_CYCLE : 0;
}

void core_init(const struct options *options) {
    const unsigned hit = options->l1d.latency_cycles;
    timing.l2_wait = beyond(options->l2.latency_cycles, hit);
    timing.l3_wait = beyond(options->l3.latency_cycles, hit);
    timing.dram_wait = beyond(options->dram_latency_cycles, hit);
    timing.l2_line = 2 * TICKS_PER_CYCLE; // 32 bytes per cycle (Cortex-A76 TRM)
    // Rounded up: modeled bandwidth must not exceed the real one.
    const uint64_t line = LINE_BYTES * TICKS_PER_CYCLE * options->clock_hz; // < 2^64 below 6 PHz
    for (unsigned n = 0; n < MODEL_CORES; n++) {
        timing.dram_read[n] = (line + options->dram_read[n] - 1) / options->dram_read[n];
        timing.dram_write[n] = (line + options->dram_write[n] - 1) / options->dram_write[n];
    }
    timing.dram_backlog = timing.dram_read[0] * options->outstanding_misses;
    timing.shadow_misses = options->outstanding_misses;
    memory_init(options);
    for (struct core *core = cores; core < cores + MODEL_CORES; core++) {
        core->current = &nothing;
        core->slot[SLOT_ABSOLUTE] = ABSOLUTE_BIAS;
        memory_init_core(core, options);
        if (options->timed)
            core->pipeline = pipeline_new();
        core->stream = mmap(NULL, MAX_SITES * sizeof *core->stream, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (core->stream == MAP_FAILED)
            abort();
    }
}

/// An access to a line that is not the last one its L1D set has seen.
__attribute__((noinline)) static void touch(struct core *core, const struct range *range, uint64_t address,
                                            uint64_t line) {
    uint32_t *entry = cache_find(&core->l1d, line);
    if (__builtin_expect(!entry || line >> LINE_BITS, 0)) {
        memory_absent(core, range, address, line);
        return;
    }
    cache_use(&core->l1d, entry);
    const uint32_t was = *entry;
    *entry = (was & range->keeps) | range->dirties;
    if (range->dirties & ~was)
        memory_own(core, core->ticks, line);
    core->recent[cache_index(&core->l1d, line)] = *entry & LINE_PREFETCHED ? NO_LINE : *entry;
    if (was & ~range->keeps)
        memory_first_use(core, range, line);
}

static inline void add_ranges(struct core *core, const struct range *range, unsigned count) {
    for (const struct range *end = range + count; range < end; range++) {
        const uint64_t slot = core->slot[range->slot];
        if (!slot)
            continue; // not executed
        const uint64_t address = slot + (uint64_t)range->delta;
        const uint64_t last = (address + range->bytes - 1) >> LINE_SHIFT;
        if (__builtin_expect(address < core->watch_end && address + range->bytes > core->watch_base, 0) &&
            (range->kind == ACCESS_LOAD || range->kind == ACCESS_STORE))
            core->counts.watch_accesses += range_units(range, address, core->watch_base, core->watch_end);
        for (uint64_t line = address >> LINE_SHIFT; line <= last; line++) {
            if (range->dirties)
                memory_follow_store(core, range, address, line);
            const uint32_t recent = core->recent[cache_index(&core->l1d, line)];
            if ((recent ^ (tag_of(line) | range->dirties)) & range->compares || line >> LINE_BITS)
                touch(core, range, address, line);
        }
    }
}

static void clear_slots(struct core *core, const struct block *block) {
    for (unsigned slot = 1; slot < block->slots; slot++)
        core->slot[slot] = 0;
}

static void count_mix(struct core *core, const struct mix *mix) {
    core->counts.mix.load += mix->load;
    core->counts.mix.store += mix->store;
    core->counts.mix.integer += mix->integer;
    core->counts.mix.vector += mix->vector;
    core->counts.mix.floating += mix->floating;
    core->counts.mix.branch += mix->branch;
}

/// A whole block in mode `timed`, which led to the one at `next`.
static void follow_block(struct core *core, const struct block *block, uint64_t next) {
    core->counts.instructions += block->insns;
    core->counts.loads += block->loads;
    core->counts.stores += block->stores;
    core->counts.bound_ticks += block->ticks;
    count_mix(core, &block->mix);
    pipeline_run_block(core, block, next);
    clear_slots(core, block);
}

/// Segments of one, what is counted in both modes excepted.
static void follow_segments(struct core *core, const struct block *block, unsigned from, unsigned to) {
    if (from == to)
        return;
    for (const struct segment *segment = block->segment + from; segment < block->segment + to; segment++)
        count_mix(core, &segment->mix);
    const struct segment *last = block->segment + to - 1;
    const unsigned first = block->segment[from].first_insn;
    pipeline_run(core, block, first, last->first_insn + last->insns - first);
}

/// Adds segments `from` up to, not including, `to`.
static void add_segments(struct core *core, const struct block *block, unsigned from, unsigned to) {
    struct a64_cost cost = {0};
    core->block_start = core->counts.instructions; // near enough for the reorder window
    for (const struct segment *segment = block->segment + from; segment < block->segment + to; segment++) {
        a64_cost_add(&cost, &segment->cost, 1);
        core->counts.instructions += segment->insns;
        core->counts.loads += segment->loads;
        core->counts.stores += segment->stores;
        core->counts.undecoded += segment->undecoded;
    }
    const uint64_t bound = a64_port_bound(&cost);
    core->counts.bound_ticks += bound;
    if (core->pipeline) {
        follow_segments(core, block, from, to);
        return;
    }
    core->ticks += bound;
    for (const struct segment *segment = block->segment + from; segment < block->segment + to; segment++)
        add_ranges(core, block->range + segment->first_range, segment->ranges);
}

/// Compares what was derived with what QEMU reported (verify=on).
static void verify(struct core *core, const struct block *block) {
    for (const struct derivation *d = block->derivation; d < block->derivation + block->derivations; d++) {
        const uint64_t slot = core->slot[d->slot], real = core->first_address[d->insn];
        if (real) {
            core->verified++;
            core->mismatched += !slot || slot + (uint64_t)d->delta != real;
        }
        core->first_address[d->insn] = 0;
    }
}

/// `block` has ended and led to the one at `next`.
__attribute__((noinline)) static void finish_rare(struct core *core, const struct block *block,
                                                  uint64_t next) {
    if (block->derivation)
        verify(core, block);
    if (!core->paused)
        add_segments(core, block, core->consumed, block->segments);
    if (core->pipeline && !core->paused)
        pipeline_branch(core, block, next);
    core->consumed = 0;
    // Idle: what is executed from here to the next latch depends on the host's pace, so that it must leave no
    // trace.
    core->paused |= block->idles;
    if (block->idles)
        report_executed(core);
    clear_slots(core, block);
}

void core_begin_block(struct core *core, const struct block *begins) {
    const struct block *block = core->current;
    core->current = begins;
    if (__builtin_expect(core->consumed | core->paused | block->rare, 0)) {
        if (block->op && !(core->consumed | core->paused | block->special))
            follow_block(core, block, begins->vaddr);
        else
            finish_rare(core, block, begins->vaddr);
        return;
    }
    core->block_start = core->counts.instructions;
    core->counts.instructions += block->insns;
    core->counts.loads += block->loads;
    core->counts.stores += block->stores;
    core->ticks += block->ticks;
    core->counts.bound_ticks += block->ticks;
    add_ranges(core, block->range, block->ranges);
    clear_slots(core, block);
}

void core_catch_up(struct core *core, unsigned segments) {
    if (core->paused)
        core->paused = core->stopped;
    else if (segments > core->consumed)
        add_segments(core, core->current, core->consumed, segments);
    core->consumed = (uint16_t)segments;
}
