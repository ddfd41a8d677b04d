// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Instructions that go to memory.
#include "core.h"
#include "hierarchy.h"
#include "stages.h"

/// The base register's micro-op.
static inline void write_back(struct pipeline *p, const struct op *op, uint64_t ready, uint64_t *stalled) {
    if (op->base != OP_NO_REGISTER)
        write(p, op->base, start_integer(p, ready, stalled) + CYCLE);
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
    const uint64_t now = cycle * TICKS;
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
        return latest(cycle, store->ready) + (p->late ? CYCLE : 0);
    }
    return there == now ? cycle : cycle_of_ticks(there + TICKS_PER_CYCLE - 1);
}

/// A store that retires at `cycle`, with its data there at `ready`, goes to the cache in its turn.
static void commit(struct core *core, struct pipeline *p, const struct touch *touch, uint64_t cycle,
                   uint64_t ready) {
    const uint64_t address = address_of(core, touch);
    p->committed = latest(cycle, p->committed) + (touch->access.bytes + 7) / 8 * (CYCLE / 2);
    uint64_t leaves = cycle_from(p->committed);
    if (address) {
        const uint64_t now = leaves * TICKS;
        watch(core, touch, address);
        const uint64_t free = touch->kind == ACCESS_ZERO_LINE
                                  ? hierarchy_zero_line(core, now, address)
                                  : hierarchy_store(core, now, address, &touch->access);
        leaves = free == now ? leaves : cycle_of_ticks(free + TICKS_PER_CYCLE - 1);
        const uint64_t last = (address + touch->access.bytes - 1) >> 3;
        for (uint64_t granule = address >> 3; granule <= last; granule++)
            p->recent[granule % RECENT_STORES] = (struct pending_store){granule, ready, leaves};
    }
    p->store[p->store_next] = leaves;
    p->store_next = p->store_next + 1 == STORES ? 0 : p->store_next + 1;
    p->stores_done = latest(p->stores_done, leaves);
}

static void load(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                 uint64_t ready) {
    uint64_t *const stalled = &core->counts.stall_ticks;
    stall_until(p, p->load[p->load_next], stalled);
    const uint64_t at = start_all(p, UNIT_L, op->times, 1, ready, stalled);
    uint64_t done = loaded(core, p, touch, at) + op->latency;
    if (op->second_times) { // what a vector or integer pipe does with the loaded data
        const unsigned tail = op->second_unit == UNIT_V ? 2 * CYCLE : CYCLE;
        const uint64_t from = latest(done - tail, data_ready(p, op));
        done = start_all(p, op->second_unit, op->second_times, op->second_busy, from, stalled) + tail;
    }
    write_all(p, op, done);
    write_back(p, op, ready, stalled);
    p->load[p->load_next] = retire(p, op, done);
    p->load_next = p->load_next + 1 == LOADS ? 0 : p->load_next + 1;
}

static void store(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                  uint64_t ready) {
    uint64_t *const stalled = &core->counts.stall_ticks;
    stall_until(p, p->store[p->store_next], stalled);
    const uint64_t at = start_all(p, UNIT_L, op->times, 1, ready, stalled);
    const uint64_t from = latest(data_ready(p, op), issue_cycle(p));
    const uint64_t data = start_all(p, op->second_unit, op->second_times, op->second_busy, from, stalled);
    write_back(p, op, ready, stalled);
    commit(core, p, touch, retire(p, op, latest(at, data) + op->latency), data);
}

static void atomic(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                   uint64_t ready) {
    uint64_t *const stalled = &core->counts.stall_ticks;
    stall_until(p, latest(p->load[p->load_next], p->store[p->store_next]), stalled);
    ready = latest(ready, data_ready(p, op));
    const uint64_t at = start_all(p, UNIT_L, op->times, 1, ready, stalled);
    start_all(p, op->second_unit, op->second_times, op->second_busy, ready, stalled);
    const uint64_t done = loaded(core, p, touch, at) + op->latency;
    write_all(p, op, done);
    const uint64_t retired = p->load[p->load_next] = retire(p, op, done);
    p->load_next = p->load_next + 1 == LOADS ? 0 : p->load_next + 1;
    if (op->data[0] != OP_NO_REGISTER) // LDXR stores nothing
        commit(core, p, touch, retired, done);
}

/// PRFM and DC. QEMU reports no access: where the address could not be derived, there is none.
static void prepare(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                    uint64_t ready) {
    uint64_t done = start_all(p, op->unit, op->times, op->busy, ready, &core->counts.stall_ticks) + CYCLE;
    const uint64_t address = address_of(core, touch);
    if (address && touch->kind <= ACCESS_PREFETCH_L2) {
        const unsigned level = touch->kind == ACCESS_PREFETCH_L1 ? 1 : 2;
        done = latest(done, cycle_of_ticks(hierarchy_prefetch(core, done * TICKS, address, level)));
    } else if (address) {
        const uint64_t now = latest(done, cycle_of(p->retired)) * TICKS;
        const uint64_t clean = hierarchy_clean(core, now, address, touch->kind == ACCESS_INVALIDATE);
        p->stores_done = latest(p->stores_done, cycle_of_ticks(clean) + CYCLE);
    }
    retire(p, op, done);
}

void follow_memory(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                   uint64_t ready) {
    switch (op->kind) {
    case OP_LOAD:
        load(core, p, op, touch, ready);
        break;
    case OP_STORE:
        store(core, p, op, touch, ready);
        break;
    case OP_ATOMIC:
        atomic(core, p, op, touch, ready);
        break;
    case OP_PREFETCH:
        prepare(core, p, op, touch, ready);
        break;
    }
}
