// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Steps that all kinds of instructions go through: operands, results, retirement.
#pragma once

#include <string.h>

#include "options.h"
#include "pipeline.h"
#include "ports.h"

/// The first cycle that begins at `time` or later.
static inline uint64_t cycle_from(uint64_t time) {
    return cycle_of(time + CYCLE - 1);
}

enum { TICKS = TICKS_PER_CYCLE / CYCLE };

static inline uint64_t cycle_of_ticks(uint64_t ticks) {
    return ticks / TICKS_PER_CYCLE * CYCLE;
}

/// When `op` can issue, as far as its sources are concerned.
static inline uint64_t operands_ready(const struct pipeline *p, const struct front *front,
                                      const struct op *op) {
    return latest(latest(p->ready[op->source[0]], p->ready[op->source[1]]), issue_cycle(front));
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
static inline uint64_t start_all(struct pipeline *p, struct front *front, unsigned unit, unsigned times,
                                 unsigned busy, uint64_t ready) {
    uint64_t at = ready;
    for (unsigned n = 0; n < times; n++) {
        p->late_start |= ready <= front->slot;
        at = latest(at, start(p, front, unit, ready, busy));
    }
    return at;
}

/// Of the `mops` macro-operations that come next, the last one's predecessor in the reorder buffer's entry.
static inline uint64_t rob_room(const struct pipeline *p, const struct front *front, unsigned mops) {
    return cycle_of(p->rob[(front->rob_next + mops - 1 - ROB) % ROB_RING]);
}

/// The calendar's row is emptied.
static inline void clear_row(struct pipeline *p, uint64_t row) {
    enum { WORDS = ROW / 64 };
    memset(&p->busy[row % ROWS * WORDS], 0, WORDS * sizeof p->busy[0]);
    memset(&p->held[row % ROWS * WORDS], 0, WORDS * sizeof p->held[0]);
}

enum { STEP = CYCLE / 4 }; // four macro-operations a cycle are dispatched, and retire

/// A macro-operation, complete at `cycle`, leaves the reorder buffer in its turn, and the next one is
/// dispatched. Returns when it leaves.
static inline uint64_t retire_one(struct pipeline *p, struct front *front, uint64_t cycle) {
    const uint64_t place = latest(front->retired, cycle);
    p->rob[front->rob_next++ % ROB_RING] = place;
    front->retired = place + STEP;
    front->slot += STEP;
    if (front->slot % CYCLE == 0)
        next_cycle(p, front);
    return cycle_of(place);
}

/// The same for all of `op`, which leave together.
static inline uint64_t retire(struct pipeline *p, struct front *front, const struct op *op, uint64_t cycle) {
    const uint64_t left = retire_one(p, front, cycle), place = front->retired - STEP;
    for (unsigned n = 1; __builtin_expect(n < op->mops, 0); n++) {
        front->retired = place;
        retire_one(p, front, place);
        front->retired = place + (n + 1) * STEP;
    }
    return left;
}

struct core;

/// Loads, stores, and what else goes to memory: pipeline_memory.c. `ready`: when the address is there.
void follow_memory(struct core *core, struct pipeline *p, const struct op *op, const struct touch *touch,
                   uint64_t ready);
