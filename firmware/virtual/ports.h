// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Pipes and their issue queues: finds the cycle at which a micro-op starts. Older instructions come first; a
// younger one takes what they left free.
#pragma once

#include "pipeline.h"

/// Of units that are one pipe.
static const uint8_t port_of[UNITS] = {
    [UNIT_B] = PORT_B, [UNIT_M] = PORT_M, [UNIT_V0] = PORT_V0, [UNIT_V1] = PORT_V1};

/// A pipe's bit in each byte: in all eight cycles of a calendar's word.
#define PIPE_BITS(port) (UINT64_C(0x0101010101010101) << (port))

/// `waiting` while all queues are empty.
#define NONE_WAITING UINT64_C(0x7474707070707070)
_Static_assert((NONE_WAITING & 255) + QUEUE == 128 && (NONE_WAITING >> PORT_L1 * 8) + LOAD_QUEUE == 128,
               "bit 7 of a full queue's byte is set");

static inline uint64_t latest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/// The cycle that `time` belongs to.
static inline uint64_t cycle_of(uint64_t time) {
    return time & ~(uint64_t)(CYCLE - 1);
}

/// The first cycle behind dispatch.
static inline uint64_t issue_cycle(const struct front *front) {
    return (front->slot | (CYCLE - 1)) + 1;
}

/// The calendar's word that `time` belongs to; its bit there is time % 64 plus the pipe.
static inline size_t word_of(uint64_t time) {
    return time / 64 % CALENDAR_WORDS;
}

/// The micro-ops that start in the cycle `time` and the rest of its calendar's word, from bit 0 on.
static inline uint64_t starts_from(const struct pipeline *p, uint64_t time) {
    return (p->busy[word_of(time)] & ~p->held[word_of(time)]) >> (time & 63);
}

/// Where a micro-op can go: the first cycle with a free pipe, the pipes that are free from there on, from bit
/// 0 on, and the first one's bit.
struct spot {
    uint64_t cycle, free;
    unsigned pipe;
};

/// The first place among `pipes` from `cycle` on.
static inline struct spot find_free(const struct pipeline *p, uint64_t pipes, uint64_t cycle) {
    uint64_t free = ~p->busy[word_of(cycle)] >> (cycle & 63) & pipes;
    while (__builtin_expect(!free, 0)) {
        cycle = (cycle | 63) + 1;
        free = ~p->busy[word_of(cycle)] & pipes;
    }
    const unsigned bit = (unsigned)__builtin_ctzll(free);
    return (struct spot){cycle + (bit & ~7u), free >> bit, bit & 7};
}

static inline uint64_t free_from(const struct pipeline *p, unsigned port, uint64_t cycle) {
    return find_free(p, PIPE_BITS(port), cycle).cycle;
}

static inline bool is_full(const struct front *front, unsigned port) {
    return front->waiting >> (port * 8 + 7) & 1;
}

/// The pipe is taken in a row of the calendar that has been emptied.
void note_stray(struct pipeline *p, uint64_t cycle);

static inline uint64_t bit_of(unsigned port, uint64_t cycle) {
    return UINT64_C(1) << ((cycle + port) & 63);
}

/// The pipe is taken, without an entry of its queue.
static inline void hold(struct pipeline *p, unsigned port, uint64_t cycle) {
    p->busy[word_of(cycle)] |= bit_of(port, cycle);
    p->held[word_of(cycle)] |= bit_of(port, cycle);
    p->furthest = latest(p->furthest, cycle);
    if (cycle / ROW < p->row)
        note_stray(p, cycle);
}

/// A micro-op that starts at `cycle` gets the pipe, and an entry of its queue until then.
static inline void enter(struct pipeline *p, struct front *front, unsigned port, uint64_t cycle) {
    if (__builtin_expect(cycle <= front->slot,
                         0)) { // dispatch has waited for an earlier part of the instruction
        hold(p, port, cycle);
        return;
    }
    p->busy[word_of(cycle)] |= bit_of(port, cycle);
    front->waiting += UINT64_C(1) << port * 8;
}

/// By a byte of the calendar: one in each of the bytes whose pipes are taken.
extern uint64_t one_each[256];

/// Dispatch goes on in the next cycle: the micro-ops that start then leave their queues.
static inline void next_cycle(const struct pipeline *p, struct front *front) {
    front->waiting -= one_each[starts_from(p, cycle_of(front->slot)) & 255];
}

// What takes long is done in the pipeline's own `front`.

/// Dispatch goes on at `cycle`, which is later. Adds the cycles in which nothing is dispatched to `stalled`,
/// in ticks.
void stall(struct pipeline *p, uint64_t cycle, uint64_t *stalled);

static inline void stall_until(struct pipeline *p, struct front *front, uint64_t cycle) {
    if (__builtin_expect(cycle <= front->slot, 1))
        return;
    p->front = *front;
    stall(p, cycle, &p->stalled);
    *front = p->front;
}

// The slow paths of the three below, where a queue is full: the micro-op goes to another pipe, or dispatch
// waits until it can.
uint64_t start_at_crowded(struct pipeline *p, unsigned port, uint64_t ready);
uint64_t start_either_crowded(struct pipeline *p, unsigned port, uint64_t ready);
uint64_t start_integer_crowded(struct pipeline *p, uint64_t ready);

/// Gives a micro-op the pipe `port` for `cycles`. Returns when it starts, `ready` or later.
static inline uint64_t start_at(struct pipeline *p, struct front *front, unsigned port, uint64_t ready,
                                unsigned cycles) {
    if (__builtin_expect(is_full(front, port), 0)) {
        p->front = *front;
        ready = start_at_crowded(p, port, ready);
        *front = p->front;
    }
    const uint64_t at = free_from(p, port, ready);
    enter(p, front, port, at);
    p->last[port] = at;
    // Where an older micro-op starts while this one keeps the pipe, it had to wait in truth; here, the time
    // is taken behind it.
    uint64_t kept = at;
    for (unsigned n = 1; __builtin_expect(n < cycles, 0); n++)
        hold(p, port, kept = free_from(p, port, kept + CYCLE));
    return at;
}

/// The same for the pipe `port` or the next one. Where both are free, the one with less to do.
static inline uint64_t start_either(struct pipeline *p, struct front *front, unsigned port, uint64_t ready) {
    const struct spot spot = find_free(p, PIPE_BITS(port) | PIPE_BITS(port + 1), ready);
    const bool busier = p->last[port] > p->last[port + 1];
    const unsigned chosen = spot.pipe + (spot.free >> 1 & busier);
    if (__builtin_expect(is_full(front, chosen), 0)) {
        p->front = *front;
        const uint64_t at = start_either_crowded(p, chosen, ready);
        *front = p->front;
        return at;
    }
    enter(p, front, chosen, spot.cycle);
    p->last[chosen] = spot.cycle;
    return spot.cycle;
}

/// The same for S0, S1 or M: M last, since some need it.
static inline uint64_t start_integer(struct pipeline *p, struct front *front, uint64_t ready) {
    const struct spot spot = find_free(p, PIPE_BITS(PORT_S0) | PIPE_BITS(PORT_S1) | PIPE_BITS(PORT_M), ready);
    if (__builtin_expect(is_full(front, spot.pipe), 0)) {
        p->front = *front;
        const uint64_t at = start_integer_crowded(p, ready);
        *front = p->front;
        return at;
    }
    enter(p, front, spot.pipe, spot.cycle);
    return spot.cycle;
}

static inline uint64_t start(struct pipeline *p, struct front *front, unsigned unit, uint64_t ready,
                             unsigned cycles) {
    switch (unit) {
    case UNIT_I:
        return start_integer(p, front, ready);
    case UNIT_V:
        return start_either(p, front, PORT_V0, ready);
    case UNIT_L:
        return start_either(p, front, PORT_L0, ready);
    }
    return start_at(p, front, port_of[unit], ready, cycles);
}
