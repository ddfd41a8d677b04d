// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Instructions that go to memory.
#include "core.h"
#include "hierarchy.h"
#include "stages.h"

/// The base register's micro-op.
static inline void write_back(struct pipeline *p, struct front *front, const struct op *op, uint64_t ready) {
    if (op->base == OP_NO_REGISTER)
        return;
    const uint64_t at = start_all(p, front, UNIT_I, 1, 1, ready);
    write(p, op->base, at + CYCLE);
    p->furthest = latest(p->furthest, at);
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

/// A store with its data there at `ready` leaves the store buffer at `cycle`. Returns when its entry is free.
static uint64_t stored(struct core *core, struct pipeline *p, const struct touch *touch, uint64_t cycle,
                       uint64_t ready) {
    const uint64_t address = address_of(core, touch);
    if (!address)
        return cycle;
    const uint64_t now = cycle * TICKS;
    watch(core, touch, address);
    const uint64_t free = touch->kind == ACCESS_ZERO_LINE
                              ? hierarchy_zero_line(core, now, address)
                              : hierarchy_store(core, now, address, &touch->access);
    const uint64_t leaves = free == now ? cycle : cycle_of_ticks(free + TICKS_PER_CYCLE - 1);
    const uint64_t last = (address + touch->access.bytes - 1) >> 3;
    for (uint64_t granule = address >> 3; granule <= last; granule++)
        p->recent[granule % RECENT_STORES] = (struct pending_store){granule, ready, leaves};
    return leaves;
}

/// PRFM and DC at `cycle`; of DC, when its entry of the store buffer is free. QEMU reports no access: where
/// the address could not be derived, there is none.
static uint64_t prepared(struct core *core, const struct touch *touch, uint64_t cycle) {
    const uint64_t address = address_of(core, touch);
    if (!address)
        return cycle;
    if (touch->kind <= ACCESS_PREFETCH_L2) {
        const unsigned level = touch->kind == ACCESS_PREFETCH_L1 ? 1 : 2;
        return latest(cycle, cycle_of_ticks(hierarchy_prefetch(core, cycle * TICKS, address, level)));
    }
    const uint64_t now = cycle * TICKS;
    const uint64_t free = hierarchy_clean(core, now, address, touch->kind == ACCESS_INVALIDATE);
    return free == now ? cycle : cycle_of_ticks(free + TICKS_PER_CYCLE - 1);
}

uint64_t pipeline_call(struct core *core, struct pipeline *p, enum call_kind kind, const struct touch *touch,
                       uint64_t at, uint64_t ready) {
    switch (kind) {
    case CALL_LOAD:
        return loaded(core, p, touch, at);
    case CALL_STORE:
        return stored(core, p, touch, at, ready);
    case CALL_PREPARE:
        break;
    }
    return prepared(core, touch, at);
}

/// The same for an instruction that the pipeline executes: keeps the answer, or has it from replaying.
static inline uint64_t call(struct core *core, struct pipeline *p, enum call_kind kind,
                            const struct touch *touch, uint64_t at, uint64_t ready) {
    if (!p->from)
        return pipeline_call(core, p, kind, touch, at, ready);
    struct call *call = &p->call[p->calls++];
    if (p->calls <= p->answers)
        return at + call->took;
    const uint64_t done = pipeline_call(core, p, kind, touch, at, ready);
    *call = (struct call){.touch = touch,
                          .at = (uint32_t)(at - p->base),
                          .ready = (uint32_t)(ready - p->base),
                          .took = (uint32_t)(done - at),
                          .kind = kind};
    return done;
}

/// A store that retires at `cycle`, with its data there at `ready`, goes to the cache in its turn; so does
/// cache maintenance.
static void commit(struct core *core, struct pipeline *p, enum call_kind kind, const struct touch *touch,
                   uint64_t cycle, uint64_t ready) {
    p->committed = latest(cycle, p->committed) + (touch->access.bytes + 7) / 8 * (CYCLE / 2);
    const uint64_t leaves = call(core, p, kind, touch, cycle_from(p->committed), ready);
    p->store[p->store_next] = leaves;
    p->store_next = p->store_next + 1 == STORES ? 0 : p->store_next + 1;
    p->stores_done = latest(p->stores_done, leaves);
}

static void load(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                 uint64_t ready) {
    struct front *const front = &p->front;
    stall_until(p, front, p->load[p->load_next]);
    const uint64_t at = start_all(p, front, UNIT_L, op->times, 1, ready);
    uint64_t done = call(core, p, CALL_LOAD, touch, at, at) + op->latency;
    if (op->second_times) { // what a vector or integer pipe does with the loaded data
        const unsigned tail = op->second_unit == UNIT_V ? 2 * CYCLE : CYCLE;
        const uint64_t from = latest(done - tail, data_ready(p, op));
        done = start_all(p, front, op->second_unit, op->second_times, op->second_busy, from) + tail;
    }
    write_all(p, op, done);
    write_back(p, front, op, ready);
    p->load[p->load_next] = retire(p, front, op, done);
    p->load_next = p->load_next + 1 == LOADS ? 0 : p->load_next + 1;
}

static void store(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                  uint64_t ready) {
    struct front *const front = &p->front;
    stall_until(p, front, p->store[p->store_next]);
    const uint64_t at = start_all(p, front, UNIT_L, op->times, 1, ready);
    const uint64_t from = latest(data_ready(p, op), issue_cycle(front));
    const uint64_t data = start_all(p, front, op->second_unit, op->second_times, op->second_busy, from);
    write_back(p, front, op, ready);
    commit(core, p, CALL_STORE, touch, retire(p, front, op, latest(at, data) + op->latency), data);
}

static void atomic(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                   uint64_t ready) {
    struct front *const front = &p->front;
    stall_until(p, front, latest(p->load[p->load_next], p->store[p->store_next]));
    ready = latest(ready, data_ready(p, op));
    const uint64_t at = start_all(p, front, UNIT_L, op->times, 1, ready);
    const uint64_t other = start_all(p, front, op->second_unit, op->second_times, op->second_busy, ready);
    p->furthest = latest(p->furthest, other);
    const uint64_t done = call(core, p, CALL_LOAD, touch, at, at) + op->latency;
    write_all(p, op, done);
    const uint64_t retired = p->load[p->load_next] = retire(p, front, op, done);
    p->load_next = p->load_next + 1 == LOADS ? 0 : p->load_next + 1;
    if (op->data[0] != OP_NO_REGISTER) // LDXR stores nothing
        commit(core, p, CALL_STORE, touch, retired, done);
}

static void prepare(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                    uint64_t ready) {
    struct front *const front = &p->front;
    const bool prefetch = touch->kind <= ACCESS_PREFETCH_L2;
    if (!prefetch)
        stall_until(p, front, p->store[p->store_next]);
    const uint64_t done = start_all(p, front, op->unit, op->times, op->busy, ready) + CYCLE;
    if (prefetch)
        retire(p, front, op, call(core, p, CALL_PREPARE, touch, done, done));
    else
        commit(core, p, CALL_PREPARE, touch, retire(p, front, op, done), done);
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
