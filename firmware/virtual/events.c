// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Events of the performance monitor. Numbers and names: Arm Architecture Reference Manual D13.10, Cortex-A76
// TRM.
#include "core.h"

enum { LINE_BEATS = LINE_BYTES / 16 }; // measured on a Pi 5: 4.13 beats a line

/// Events of the caches and what is behind them.
static bool memory_event(const struct core *core, unsigned event, uint64_t *value) {
    const struct counts *c = &core->counts;
    const uint64_t loads = c->loads - c->uncached_loads, stores = c->stores - c->uncached_stores;
    switch (event) {
    case 0x03: // L1D_CACHE_REFILL
        *value = c->l1d_refill;
        return true;
    case 0x04: // L1D_CACHE
        *value = loads + stores;
        return true;
    case 0x05: // L1D_TLB_REFILL
        *value = c->tlb_refill;
        return true;
    case 0x13: // MEM_ACCESS
        *value = c->loads + c->stores;
        return true;
    case 0x15: // L1D_CACHE_WB
        *value = c->l1d_writeback;
        return true;
    case 0x16: // L2D_CACHE
        *value = c->l2_access;
        return true;
    case 0x17: // L2D_CACHE_REFILL
        *value = c->l2_refill;
        return true;
    case 0x18: // L2D_CACHE_WB
        *value = c->l2_writeback;
        return true;
    case 0x19: // BUS_ACCESS
        *value = LINE_BEATS * (c->below_reads + c->l2_evict);
        return true;
    case 0x25: // L1D_TLB
        *value = loads + stores;
        return true;
    case 0x29: // L3D_CACHE_ALLOCATE
        *value = cores[0].l3.entry ? c->l2_evict : 0;
        return true;
    case 0x2a: // L3D_CACHE_REFILL
        *value = c->l3_refill;
        return true;
    case 0x2b: // L3D_CACHE
    case 0xa0: // L3D_CACHE_RD
        *value = c->l3_access;
        return true;
    case 0x2d: // L2D_TLB_REFILL
    case 0x34: // DTLB_WALK
        *value = c->tlb_walk;
        return true;
    case 0x36: // LL_CACHE_RD
        *value = c->below_reads;
        return true;
    case 0x37: // LL_CACHE_MISS_RD
        *value = c->dram_reads;
        return true;
    case 0x40: // L1D_CACHE_RD
        *value = loads;
        return true;
    case 0x41: // L1D_CACHE_WR
        *value = stores;
        return true;
    case 0x50: // L2D_CACHE_RD
        *value = c->l2_read;
        return true;
    case 0x60: // BUS_ACCESS_RD
        *value = LINE_BEATS * c->below_reads;
        return true;
    case 0x61: // BUS_ACCESS_WR
        *value = LINE_BEATS * c->l2_evict;
        return true;
    case 0x66: // MEM_ACCESS_RD
        *value = c->loads;
        return true;
    case 0x67: // MEM_ACCESS_WR
        *value = c->stores;
        return true;
    }
    return false;
}

/// Events that only mode `timed` has. Nothing is executed on a wrong path, so that speculated instructions
/// are those that retired.
static bool pipeline_event(const struct counts *c, unsigned event, uint64_t *value) {
    switch (event) {
    case 0x10: // BR_MIS_PRED
        *value = c->mispredicts;
        return true;
    case 0x12: // BR_PRED
    case 0x21: // BR_RETIRED
        *value = c->branches;
        return true;
    case 0x1b: // INST_SPEC
        *value = c->instructions;
        return true;
    case 0x23: // STALL_FRONTEND
        *value = c->fetch_ticks / TICKS_PER_CYCLE;
        return true;
    case 0x70: // LD_SPEC
        *value = c->mix.load;
        return true;
    case 0x71: // ST_SPEC
        *value = c->mix.store;
        return true;
    case 0x73: // DP_SPEC
        *value = c->mix.integer;
        return true;
    case 0x74: // ASE_SPEC
        *value = c->mix.vector;
        return true;
    case 0x75: // VFP_SPEC
        *value = c->mix.floating;
        return true;
    }
    return false;
}

uint64_t core_event(const struct core *core, unsigned event, bool *known) {
    uint64_t value = 0;
    *known = true;
    switch (event) {
    case 0x08: // INST_RETIRED
        return core->counts.instructions;
    case 0x11: // CPU_CYCLES
        return core_cycles(core);
    case 0x24: // STALL_BACKEND; in mode `fast`, waiting for memory
        return core->counts.stall_ticks / TICKS_PER_CYCLE;
    case 0xc000: // of our own: what the ports allow
        return core->counts.bound_ticks / TICKS_PER_CYCLE;
    }
    *known =
        memory_event(core, event, &value) || (core->pipeline && pipeline_event(&core->counts, event, &value));
    return value;
}
