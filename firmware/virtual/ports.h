// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Pipes and their issue queues: finds the cycle at which a micro-op starts. Older instructions come first; a
// younger one takes what they left free.
#pragma once

#include "pipeline.h"

/// Of units that are one pipe.
static const uint8_t port_of[UNITS] = {
    [UNIT_B] = PORT_B, [UNIT_M] = PORT_M, [UNIT_V0] = PORT_V0, [UNIT_V1] = PORT_V1};

/// A pipe's bit in each byte: in all eight cycles of a calendar's word, or all queues of `waiting`.
#define EACH_BYTE    UINT64_C(0x0101010101010101)
#define PIPE_BITS(port) (EACH_BYTE << (port))

/// `waiting` while all queues are empty.
#define NONE_WAITING UINT64_C(0x7474707070707070)
_Static_assert((NONE_WAITING & 255) + QUEUE == 128 && (NONE_WAITING >> PORT_L1 * 8) + LOAD_QUEUE == 128,
               "bit 7 of a full queue's byte is set");

static inline uint64_t *busy_at(struct pipeline *p, uint64_t time) {
    return &p->busy[time / 64 % CALENDAR_WORDS];
}

/// The bits of the pipes that are free in the cycle `time` and the rest of its calendar's word, from bit 0 on.
static inline uint64_t free_bits(struct pipeline *p, uint64_t pipes, uint64_t time) {
    return ~*busy_at(p, time) >> (time & 63) & pipes;
}

/// The first cycle from `cycle` on at which one of `pipes` is free. Leaves the bits from there on in `free`,
/// the first pipe's at `bit`.
struct place {
    uint64_t cycle, free;
    unsigned bit;
};

static inline struct place find_free(struct pipeline *p, uint64_t pipes, uint64_t cycle) {
    uint64_t free = free_bits(p, pipes, cycle);
    while (__builtin_expect(!free, 0)) {
        cycle = (cycle | 63) + 1;
        free = free_bits(p, pipes, cycle);
    }
    const unsigned bit = (unsigned)__builtin_ctzll(free);
    return (struct place){cycle + (bit & ~7u), free, bit};
}

static inline uint64_t free_from(struct pipeline *p, unsigned port, uint64_t cycle) {
    return find_free(p, PIPE_BITS(port), cycle).cycle;
}

static inline bool is_full(const struct pipeline *p, unsigned port) {
    return p->waiting >> (port * 8 + 7) & 1;
}

/// The pipe is taken, without an entry of its queue.
static inline void hold(struct pipeline *p, unsigned port, uint64_t cycle) {
    const uint64_t bit = UINT64_C(1) << ((cycle + port) & 63);
    *busy_at(p, cycle) |= bit;
    p->held[cycle / 64 % CALENDAR_WORDS] |= bit;
}

/// A micro-op that starts at `cycle` gets the pipe, and an entry of its queue until then.
static inline void enter(struct pipeline *p, unsigned port, uint64_t cycle) {
    if (__builtin_expect(cycle <= p->counted, 0)) { // dispatch has waited for an earlier part of the instruction
        hold(p, port, cycle);
        return;
    }
    *busy_at(p, cycle) |= UINT64_C(1) << ((cycle + port) & 63);
    p->waiting += UINT64_C(1) << port * 8;
}

/// One in each byte whose number is a bit of `pipes`.
static inline uint64_t one_each(uint64_t pipes) {
    const uint64_t bits = pipes * EACH_BYTE & UINT64_C(0x8040201008040201);
    return (bits + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & EACH_BYTE;
}

/// Micro-ops that start up to the cycle `now` leave their queues.
void leave_queues(struct pipeline *p, uint64_t now);

/// The same where `now` is that of dispatch.
static inline void keep_count(struct pipeline *p) {
    const uint64_t now = p->slot & ~UINT64_C(7);
    if (now != p->counted)
        leave_queues(p, now);
}

/// Dispatch goes on at `cycle`, which is later. Adds the cycles in which nothing is dispatched to `stalled`,
/// in ticks.
void stall(struct pipeline *p, uint64_t cycle, uint64_t *stalled);

static inline void stall_until(struct pipeline *p, uint64_t cycle, uint64_t *stalled) {
    if (__builtin_expect(cycle > p->slot, 0))
        stall(p, cycle, stalled);
}

// The slow paths of the three below, where a queue is full: the micro-op goes to another pipe, or dispatch
// waits until it can.
uint64_t start_at_crowded(struct pipeline *p, unsigned port, uint64_t ready, uint64_t *stalled);
uint64_t start_either_crowded(struct pipeline *p, unsigned port, uint64_t ready,
                              uint64_t *stalled);
uint64_t start_integer_crowded(struct pipeline *p, uint64_t ready, uint64_t *stalled);

/// Gives a micro-op the pipe `port` for `cycles`. Returns when it starts, `ready` or later. Counts cycles
/// lost to full queues in `stalled`.
static inline uint64_t start_at(struct pipeline *p, unsigned port, uint64_t ready, unsigned cycles,
                                uint64_t *stalled) {
    if (__builtin_expect(is_full(p, port), 0))
        ready = start_at_crowded(p, port, ready, stalled);
    const uint64_t at = free_from(p, port, ready);
    enter(p, port, at);
    p->last[port] = at;
    // Where an older micro-op starts while this one keeps the pipe, it had to wait in truth; here, the time is
    // taken behind it.
    uint64_t kept = at;
    for (unsigned n = 1; __builtin_expect(n < cycles, 0); n++)
        hold(p, port, kept = free_from(p, port, kept + CYCLE));
    return at;
}

/// The same for the pipe `port` or the next one. Where both are free, the one with less to do.
static inline uint64_t start_either(struct pipeline *p, unsigned port, uint64_t ready, uint64_t *stalled) {
    const struct place place = find_free(p, PIPE_BITS(port) | PIPE_BITS(port + 1), ready);
    const unsigned busier = p->last[port] > p->last[port + 1];
    const unsigned chosen = (place.bit & 7) + (place.free >> place.bit >> 1 & busier);
    if (__builtin_expect(is_full(p, chosen), 0))
        return start_either_crowded(p, chosen, ready, stalled);
    enter(p, chosen, place.cycle);
    p->last[chosen] = place.cycle;
    return place.cycle;
}

/// The same for S0, S1 or M: M last, since some need it.
static inline uint64_t start_integer(struct pipeline *p, uint64_t ready, uint64_t *stalled) {
    const struct place place =
        find_free(p, PIPE_BITS(PORT_S0) | PIPE_BITS(PORT_S1) | PIPE_BITS(PORT_M), ready);
    const unsigned chosen = place.bit & 7;
    if (__builtin_expect(is_full(p, chosen), 0))
        return start_integer_crowded(p, ready, stalled);
    enter(p, chosen, place.cycle);
    return place.cycle;
}

static inline uint64_t start(struct pipeline *p, unsigned unit, uint64_t ready, unsigned cycles,
                             uint64_t *stalled) {
    switch (unit) {
    case UNIT_I:
        return start_integer(p, ready, stalled);
    case UNIT_V:
        return start_either(p, PORT_V0, ready, stalled);
    case UNIT_L:
        return start_either(p, PORT_L0, ready, stalled);
    }
    return start_at(p, port_of[unit], ready, cycles, stalled);
}
