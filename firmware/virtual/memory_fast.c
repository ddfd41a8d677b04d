// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Mode `fast`: what misses cost, from where the lines were.
//
// An independent miss to L3 or DRAM costs its latency, and hides further independent ones that follow
// within one reorder window (interval analysis: Eyerman, Eeckhout, Karkhanis, Smith, "A mechanistic
// performance model for superscalar out-of-order processors", ACM TOCS 27(2), 2009). A miss whose address was
// loaded just before costs its whole latency always. Stores wait for nothing but bandwidth.

#include "memory.h"

enum {
    WINDOW = 128,  // reorder buffer, instructions: Cortex-A76 (WikiChip), LLVM's Neoverse N1 model
    OVERLAP_L2 = 4 // independent L2 hits in flight that an out-of-order core hides: assumed; 2 cycles a line
                   // remain, which is the 32 bytes per cycle of the L2's read path (Cortex-A76 TRM)
};

static void wait(struct core *core, uint64_t ticks) {
    core->ticks += ticks;
    core->counts.stall_ticks += ticks;
}

/// The core may run ahead of the bus by so much.
static void wait_for_bus(struct core *core, uint64_t backlog) {
    if (core->dram.end > core->ticks + backlog)
        wait(core, core->dram.end - backlog - core->ticks);
}

void core_drain(struct core *core) {
    wait_for_bus(core, 0);
}

static void wait_for(struct core *core, const struct range *range, enum level level) {
    if (level == LEVEL_L2) {
        wait(core, range->dependent ? timing.l2_wait : timing.l2_wait / OVERLAP_L2);
        return;
    }
    const uint64_t at = core->block_start + range->insn;
    if (!range->dependent && at < core->shadow_end && ++core->shadow_misses < timing.shadow_misses)
        return;
    wait(core, level == LEVEL_L3 ? timing.l3_wait : timing.dram_wait);
    core->shadow_end = at + WINDOW;
    core->shadow_misses = 0;
}

void memory_first_use(struct core *core, const struct range *range, uint64_t line) {
    if (range->kind == ACCESS_LOAD) {
        memory_use(core, core->ticks, line, 0);
        prefetcher_train(core, core->ticks, range->site, line);
    }
    wait_for_bus(core, timing.dram_backlog);
}

void memory_follow_store(struct core *core, const struct range *range, uint64_t address, uint64_t line) {
    const uint64_t begin = line << LINE_SHIFT, end = begin + LINE_BYTES, last = address + range->bytes;
    follow_store(core, line, (unsigned)((last < end ? last : end) - (address > begin ? address : begin)));
}

/// Devices and non-cacheable memory.
static void uncached(struct core *core, const struct range *range, uint64_t address, uint64_t line) {
    const uint64_t begin = line << LINE_SHIFT;
    memory_uncached(core, range->kind == ACCESS_LOAD, range_units(range, address, begin, begin + LINE_BYTES),
                    line);
}

void memory_absent(struct core *core, const struct range *range, uint64_t address, uint64_t line) {
    if (!memory_cacheable(line)) {
        if (range->kind == ACCESS_LOAD || range->kind == ACCESS_STORE)
            uncached(core, range, address, line);
        return;
    }
    const uint64_t now = core->ticks;
    switch (range->kind) {
    case ACCESS_PREFETCH_L1:
    case ACCESS_PREFETCH_L2: // its use later does not train the prefetcher
        memory_prefetch(core, now, line, range->kind == ACCESS_PREFETCH_L1, 0);
        break;
    case ACCESS_ZERO_LINE:
        memory_overwrite(core, now, line, true);
        break;
    case ACCESS_STORE:
        if (store_streams(&core->store_stream[core->storing]))
            memory_overwrite(core, now, line, false);
        else
            memory_fetch(core, now, line, REASON_STORE);
        break;
    default: {
        const struct fill fill = memory_fetch(core, now, line, REASON_LOAD);
        wait_for_bus(core, timing.dram_backlog);
        wait_for(core, range, fill.level);
        prefetcher_train(core, core->ticks, range->site, line);
    }
    }
    wait_for_bus(core, timing.dram_backlog);
}
