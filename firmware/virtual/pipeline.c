// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "hierarchy.h"
#include "ports.h"

enum {
    NO_CAPS = 0x01010101,  // two micro-ops per cycle for each of B, M, V0, V1 (SOG 4.1): counted up from 1,
    CAP_BITS = 0x04040404, // the third sets one of these bits
    WINDOW_SHIFT = 5,      // instructions are predicted and fetched by 32 bytes (WikiChip)
    RUN_AHEAD = 8,         // windows that fetch may be ahead of dispatch: assumed
    REFILL = 13, // from a mispredicted branch's execution to dispatch on the right path. The documented
                 // minimum of 11 is the pipeline's; measured penalties are 15 to 18 in all (calibrated by the
                 // branch benchmark)
    LONGEST = 2048, // cycles that one micro-op may be ahead of the next: beyond, the ring is made to follow
};

struct pipeline *pipeline_new(void) {
    struct pipeline *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->limit = (RING_ROWS - LONGEST / 64) * 64;
    return p;
}

static inline uint64_t latest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/// Empties the rows that dispatch has passed.
static void pass_rows(struct pipeline *p) {
    const uint64_t row = p->slot >> 8;
    if (row - p->row >= RING_ROWS)
        memset(p->ring, 0, sizeof p->ring);
    else
        for (; p->row < row; p->row++)
            memset(&p->ring[p->row % RING_ROWS], 0, sizeof p->ring[0]);
    p->row = row;
    p->limit = (row + RING_ROWS - LONGEST / 64) * 64;
}

void stall_until(struct pipeline *p, uint64_t cycle, uint64_t *stalled) {
    const uint64_t now = p->slot >> 2;
    if (cycle <= now)
        return;
    *stalled += (cycle - now - (p->slot % 4 != 0)) * TICKS_PER_CYCLE;
    p->slot = cycle << 2;
    pass_rows(p);
}

/// When `op` can issue, as far as its registers are concerned.
static inline uint64_t operands_ready(const struct pipeline *p, const struct op *op) {
    const uint64_t first = latest(p->ready[op->source[0]], p->ready[op->source[1]]);
    const uint64_t second = latest(p->ready[op->source[2]], p->ready[op->source[3]]);
    return latest(latest(first, second), (p->slot >> 2) + 1);
}

static inline uint64_t accumulator_ready(const struct pipeline *p, const struct op *op) {
    const unsigned reg = op->accumulator;
    return p->family[reg] == op->family ? p->early[reg] : p->ready[reg];
}

static inline uint64_t data_ready(const struct pipeline *p, const struct op *op) {
    return latest(latest(p->ready[op->data[0]], p->ready[op->data[1]]),
                  latest(p->ready[op->data[2]], p->ready[op->data[3]]));
}

/// `reg` is written by an instruction that issued at `at`.
static inline void write(struct pipeline *p, unsigned reg, uint64_t ready, uint64_t early, unsigned family) {
    p->ready[reg] = ready;
    p->early[reg] = early;
    p->family[reg] = (uint8_t)family;
}

static inline void write_all(struct pipeline *p, const struct op *op, uint64_t ready) {
    for (unsigned t = 0; t < sizeof op->target && op->target[t] != OP_NO_TARGET; t++)
        write(p, op->target[t], ready, ready, FAMILY_NONE);
}

/// Gives all micro-ops of one unit their pipes. Returns when the last one starts.
static inline uint64_t start_all(struct pipeline *p, unsigned unit, unsigned times, unsigned busy,
                                 uint64_t ready, uint64_t *stalled) {
    uint64_t at = ready;
    for (unsigned n = 0; n < times; n++)
        at = latest(at, start(p, unit, ready, busy, stalled));
    return at;
}

/// The base register's micro-op.
static inline void write_back(struct pipeline *p, const struct op *op, uint64_t ready, uint64_t *stalled) {
    if (op->base == OP_NO_REGISTER)
        return;
    const uint64_t at = start(p, UNIT_I, ready, 1, stalled);
    write(p, op->base, at + 1, at + 1, FAMILY_NONE);
}

/// `op`, complete at `cycle`, leaves the reorder buffer in its turn. Returns when.
static inline uint64_t retire(struct pipeline *p, const struct op *op, uint64_t cycle) {
    p->retired = latest(p->retired, cycle << 2);
    const uint64_t at = p->retired >> 2;
    for (unsigned n = 0; n < op->mops; n++)
        p->rob[p->rob_next++ % ROB] = at;
    p->retired += op->mops;
    return at;
}

/// The address of an access; 0 where it was not made.
static inline uint64_t address_of(const struct core *core, const struct touch *touch) {
    const uint64_t slot = core->slot[touch->slot];
    if (__builtin_expect(!slot, 0))
        return 0;
    const uint64_t address = slot + (uint64_t)touch->delta;
    return address ^ (address >> 36 << 20); // of a user program: folded into what caches can hold
}

static inline void watch(struct core *core, const struct touch *touch, uint64_t address) {
    if (__builtin_expect(address < core->watch_end && address + touch->access.bytes > core->watch_base, 0))
        core->counts.watch_accesses += units_within(touch->access.units, touch->access.bytes, address,
                                                    core->watch_base, core->watch_end);
}

/// When a load that a pipe takes at `cycle` has its data, less the latency of a hit.
static inline uint64_t loaded(struct core *core, struct pipeline *p, const struct touch *touch,
                              uint64_t cycle) {
    const uint64_t address = address_of(core, touch);
    if (!address)
        return cycle;
    watch(core, touch, address);
    const uint64_t now = cycle * TICKS_PER_CYCLE;
    const uint64_t there = hierarchy_load(core, now, address, &touch->access);
    const struct pending_store *store = &p->recent[(address >> 3) % RECENT_STORES];
    const uint64_t last = (address + touch->access.bytes - 1) >> 3;
    if (store->granule != address >> 3 || store->leaves <= cycle)
        store = &p->recent[last % RECENT_STORES];
    if (__builtin_expect(store->granule - (address >> 3) <= last - (address >> 3) && store->leaves > cycle,
                         0)) {
        // From the store buffer. Load, add, store and so on takes 5.5 cycles a turn (measured): one more or
        // none, alternately.
        p->late = !p->late;
        return latest(cycle, store->ready) + p->late;
    }
    return there == now ? cycle : (there + TICKS_PER_CYCLE - 1) / TICKS_PER_CYCLE;
}

/// A store that retires at `cycle`, with its data there at `ready`, goes to the cache in its turn.
static void commit(struct core *core, struct pipeline *p, const struct touch *touch, uint64_t cycle,
                   uint64_t ready) {
    const uint64_t address = address_of(core, touch);
    uint64_t leaves = p->committed = latest(cycle, p->committed) + (touch->access.bytes > 16 ? 2 : 1);
    if (address) {
        const uint64_t now = leaves * TICKS_PER_CYCLE;
        watch(core, touch, address);
        const uint64_t free = touch->kind == ACCESS_ZERO_LINE
                                  ? hierarchy_zero_line(core, now, address)
                                  : hierarchy_store(core, now, address, &touch->access);
        leaves = (free + TICKS_PER_CYCLE - 1) / TICKS_PER_CYCLE;
        const uint64_t last = (address + touch->access.bytes - 1) >> 3;
        for (uint64_t granule = address >> 3; granule <= last; granule++)
            p->recent[granule % RECENT_STORES] = (struct pending_store){granule, ready, leaves};
    }
    p->store[p->store_next++ % STORES] = leaves;
    p->stores_done = latest(p->stores_done, leaves);
}

static void wait_before(struct pipeline *p, const struct op *op, uint64_t *stalled) {
    const uint64_t finished = (p->retired + 3) >> 2;
    stall_until(p, op->wait == WAIT_STORES ? latest(finished, p->stores_done) : finished, stalled);
}

/// Room in the reorder buffer and under the caps of one dispatch cycle.
static inline void dispatch(struct pipeline *p, const struct op *op, uint64_t *stalled) {
    if (__builtin_expect(op->wait != WAIT_NONE, 0))
        wait_before(p, op, stalled);
    const uint64_t room = p->rob[(p->rob_next + op->mops - 1) % ROB];
    if (__builtin_expect(room > p->slot >> 2, 0))
        stall_until(p, room, stalled);
    if (op->caps) {
        const uint64_t now = p->slot >> 2;
        p->caps = (p->capped == now ? p->caps : NO_CAPS) + op->caps;
        p->capped = now;
        if (__builtin_expect(p->caps & CAP_BITS, 0)) {
            p->slot = (now + 1) << 2;
            p->caps = NO_CAPS + op->caps;
            p->capped = now + 1;
        }
    }
}

static void follow(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch) {
    uint64_t *const stalled = &core->counts.stall_ticks;
    dispatch(p, op, stalled);
    if (op->kind == OP_NONE) {
        retire(p, op, p->slot >> 2);
        p->slot += op->mops;
        return;
    }
    uint64_t ready = operands_ready(p, op);
    if (__builtin_expect(ready >= p->limit, 0)) {
        stall_until(p, ready - LONGEST, stalled);
        ready = operands_ready(p, op);
    }
    uint64_t done;
    switch (op->kind) {
    case OP_ONE: {
        ready = latest(ready, accumulator_ready(p, op));
        const uint64_t at = start(p, op->unit, ready, op->busy, stalled);
        done = at + op->latency;
        write(p, op->target[0], done, at + op->forward, op->family);
        write(p, op->target[1], done, done, FAMILY_NONE);
        break;
    }
    case OP_BRANCH:
    case OP_GENERAL: {
        ready = latest(latest(ready, accumulator_ready(p, op)), data_ready(p, op));
        uint64_t at = start_all(p, op->unit, op->times, op->busy, ready, stalled);
        at = latest(at, start_all(p, op->second_unit, op->second_times, op->second_busy, ready, stalled));
        done = at + op->latency;
        write_all(p, op, done);
        if (op->family)
            write(p, op->target[0], done, at + op->forward, op->family);
        if (op->kind == OP_BRANCH)
            p->resolved = done;
        break;
    }
    case OP_LOAD: {
        stall_until(p, p->load[p->load_next % LOADS], stalled);
        const uint64_t at = start_all(p, op->unit, op->times, op->busy, ready, stalled);
        done = loaded(core, p, touch, at) + op->latency;
        if (op->second_times) { // what a vector or integer pipe does with the loaded data
            const unsigned tail = op->second_unit == UNIT_V ? 2 : 1;
            const uint64_t from = latest(done - tail, data_ready(p, op));
            done = start_all(p, op->second_unit, op->second_times, op->second_busy, from, stalled) + tail;
        }
        write_all(p, op, done);
        write_back(p, op, ready, stalled);
        p->load[p->load_next++ % LOADS] = retire(p, op, done);
        p->slot += op->mops;
        return;
    }
    case OP_STORE: {
        stall_until(p, p->store[p->store_next % STORES], stalled);
        const uint64_t at = start_all(p, op->unit, op->times, op->busy, ready, stalled);
        const uint64_t from = latest(data_ready(p, op), (p->slot >> 2) + 1);
        const uint64_t data = start_all(p, op->second_unit, op->second_times, op->second_busy, from, stalled);
        done = latest(at, data) + op->latency;
        write_back(p, op, ready, stalled);
        commit(core, p, touch, retire(p, op, done), data);
        p->slot += op->mops;
        return;
    }
    case OP_ATOMIC: {
        stall_until(p, latest(p->load[p->load_next % LOADS], p->store[p->store_next % STORES]), stalled);
        ready = latest(ready, data_ready(p, op));
        const uint64_t at = start_all(p, op->unit, op->times, op->busy, ready, stalled);
        start_all(p, op->second_unit, op->second_times, op->second_busy, ready, stalled);
        done = loaded(core, p, touch, at) + op->latency;
        write_all(p, op, done);
        const uint64_t retired = retire(p, op, done);
        p->load[p->load_next++ % LOADS] = retired;
        if (op->data[0] != OP_NO_REGISTER) // LDXR stores nothing
            commit(core, p, touch, retired, done);
        p->slot += op->mops;
        return;
    }
    default: { // OP_PREFETCH
        done = start_all(p, op->unit, op->times, op->busy, ready, stalled) + 1;
        const uint64_t address = address_of(core, touch);
        if (address && touch->kind <= ACCESS_PREFETCH_L2) {
            const unsigned level = touch->kind == ACCESS_PREFETCH_L1 ? 1 : 2;
            done = latest(done,
                          hierarchy_prefetch(core, done * TICKS_PER_CYCLE, address, level) / TICKS_PER_CYCLE);
        } else if (address) {
            const uint64_t now = latest(done, p->retired >> 2) * TICKS_PER_CYCLE;
            const uint64_t clean = hierarchy_clean(core, now, address, touch->kind == ACCESS_INVALIDATE);
            p->stores_done = latest(p->stores_done, clean / TICKS_PER_CYCLE + 1);
        }
    }
    }
    retire(p, op, done);
    if (op->wait == WAIT_REFETCH)
        p->fetched = latest(p->fetched, done + REFILL);
    p->slot += op->mops;
}

/// The instructions from `begin` to `end` (addresses) come from fetch: a window a cycle.
static inline void fetch(struct core *core, struct pipeline *p, uint64_t begin, uint64_t end) {
    const uint64_t first = begin >> WINDOW_SHIFT, last = (end - 1) >> WINDOW_SHIFT;
    stall_until(p, p->fetched, &core->counts.fetch_ticks);
    const uint64_t now = p->slot >> 2;
    p->fetched = latest(p->fetched, now > RUN_AHEAD ? now - RUN_AHEAD : 0);
    p->fetched += last - first + (first != p->window);
    p->window = last;
}

void pipeline_run(struct core *core, const struct block *block, unsigned first, unsigned count) {
    struct pipeline *p = core->pipeline;
    const uint64_t clock = core->ticks / TICKS_PER_CYCLE;
    if (clock > p->retired >> 2) { // time has passed otherwise
        p->retired = latest(p->retired, clock << 2);
        p->slot = latest(p->slot, clock << 2);
    }
    if (p->slot >> 8 != p->row)
        pass_rows(p);
    fetch(core, p, block->vaddr + first * 4, block->vaddr + (first + count) * 4);
    for (const struct op *op = block->op + first; op < block->op + first + count; op++)
        follow(core, p, op, &block->touch[op->access]);
    core->ticks = (p->retired >> 2) * TICKS_PER_CYCLE;
}

void pipeline_branch(struct core *core, const struct block *block, uint64_t next) {
    struct pipeline *p = core->pipeline;
    const uint64_t after = block->vaddr + block->insns * 4, pc = after - 4;
    bool predicted = true;
    switch (block->branch) {
    case BRANCH_NONE:
        break;
    case BRANCH_CONDITIONAL:
        if (next == after || next == block->target)
            predicted = predict_direction(&p->predictor, pc, next != after);
        break;
    case BRANCH_CALL_INDIRECT:
        predicted = predict_target(&p->predictor, pc, next);
        // fall through
    case BRANCH_CALL:
        predict_call(&p->predictor, after);
        break;
    case BRANCH_RETURN:
        predicted = predict_return(&p->predictor, next);
        break;
    case BRANCH_INDIRECT:
        predicted = predict_target(&p->predictor, pc, next);
        break;
    case BRANCH_DIRECT:
        break;
    }
    core->counts.branches += block->branch != BRANCH_NONE;
    if (next != after)
        p->window = 0;
    if (predicted)
        return;
    core->counts.mispredicts++;
    p->fetched = latest(p->fetched, p->resolved + REFILL);
}
