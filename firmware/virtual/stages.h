// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Steps that all kinds of instructions go through: operands, results, retirement.
#pragma once

#include "options.h"
#include "pipeline.h"
#include "ports.h"

static inline uint64_t latest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/// The first cycle behind dispatch.
static inline uint64_t issue_cycle(const struct pipeline *p) {
    return (p->slot | (CYCLE - 1)) + 1;
}

/// The cycle that `time` belongs to.
static inline uint64_t cycle_of(uint64_t time) {
    return time & ~(uint64_t)(CYCLE - 1);
}

/// The first cycle that begins at `time` or later.
static inline uint64_t cycle_from(uint64_t time) {
    return cycle_of(time + CYCLE - 1);
}

enum { TICKS = TICKS_PER_CYCLE / CYCLE };

static inline uint64_t cycle_of_ticks(uint64_t ticks) {
    return ticks / TICKS_PER_CYCLE * CYCLE;
}

/// When `op` can issue, as far as its sources are concerned.
static inline uint64_t operands_ready(const struct pipeline *p, const struct op *op) {
    return latest(latest(p->ready[op->source[0]], p->ready[op->source[1]]), issue_cycle(p));
}

/// `ready`, or later, when the accumulator is there.
static inline uint64_t with_accumulator(const struct pipeline *p, const struct op *op, uint64_t ready) {
    if (op->accumulator == OP_NO_REGISTER)
        return ready;
    const unsigned forwarding = p->forwarding[op->accumulator];
    const bool same_family = (forwarding ^ op->forwarding) < 256;
    return latest(ready, p->ready[op->accumulator] - (same_family ? forwarding & 255 : 0));
}

static inline uint64_t data_ready(const struct pipeline *p, const struct op *op) {
    return latest(latest(p->ready[op->data[0]], p->ready[op->data[1]]),
                  latest(p->ready[op->data[2]], p->ready[op->data[3]]));
}

static inline void write(struct pipeline *p, unsigned reg, uint64_t ready) {
    p->ready[reg] = ready;
    p->forwarding[reg] = 0;
}

/// The result of an instruction that has just one, or that has flags as the second.
static inline void write_forwarding(struct pipeline *p, const struct op *op, uint64_t ready) {
    p->ready[op->target[0]] = ready;
    p->forwarding[op->target[0]] = op->forwarding;
    p->ready[op->target[1]] = ready; // flags, or nothing: never forwarded
}

static inline void write_all(struct pipeline *p, const struct op *op, uint64_t ready) {
    for (unsigned t = 0; t < sizeof op->target && op->target[t] != OP_NO_TARGET; t++)
        write(p, op->target[t], ready);
}

/// Gives all micro-ops of one unit their pipes. Returns when the last one starts.
static inline uint64_t start_all(struct pipeline *p, unsigned unit, unsigned times, unsigned busy,
                                 uint64_t ready, uint64_t *stalled) {
    uint64_t at = ready;
    for (unsigned n = 0; n < times; n++)
        at = latest(at, start(p, unit, ready, busy, stalled));
    return at;
}

/// `op`, complete at `cycle`, leaves the reorder buffer in its turn. Returns when.
static inline uint64_t retire(struct pipeline *p, const struct op *op, uint64_t cycle) {
    const uint64_t place = latest(p->retired, cycle);
    const unsigned mops = op->mops;
    p->rob[p->rob_next++ % ROB] = cycle_of(place);
    for (unsigned n = 1; __builtin_expect(n < mops, 0); n++)
        p->rob[p->rob_next++ % ROB] = cycle_of(place);
    p->retired = place + mops * (CYCLE / 4);
    p->slot += mops * (CYCLE / 4);
    return cycle_of(place);
}

struct core;

/// Loads, stores, and what else goes to memory: pipeline_memory.c. `ready`: when the address is there.
void follow_memory(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                   uint64_t ready);
