// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Pipes and their issue queues: finds the cycle at which a micro-op starts. Older instructions come first; a
// younger one takes what they left free.
#pragma once

#include "pipeline.h"

/// Of units that are one pipe.
_Static_assert(PORT_V0 % 2 == 0 && PORT_V1 == PORT_V0 + 1 && PORT_L0 % 2 == 0 && PORT_L1 == PORT_L0 + 1,
               "pairs");

static const uint8_t port_of[UNITS] = {
    [UNIT_B] = PORT_B, [UNIT_M] = PORT_M, [UNIT_V0] = PORT_V0, [UNIT_V1] = PORT_V1};

static inline struct ring_row *row_of(struct pipeline *p, uint64_t cycle) {
    return &p->ring[(cycle >> 6) % RING_ROWS];
}

/// The first cycle from `cycle` on at which the pipe is free.
static inline uint64_t free_from(struct pipeline *p, unsigned port, uint64_t cycle) {
    for (;;) {
        const uint64_t free = ~row_of(p, cycle)->busy[port] >> (cycle & 63);
        if (__builtin_expect(free != 0, 1))
            return cycle + (uint64_t)__builtin_ctzll(free);
        cycle = (cycle | 63) + 1;
    }
}

static inline void take(struct pipeline *p, unsigned port, uint64_t cycle) {
    row_of(p, cycle)->busy[port] |= UINT64_C(1) << (cycle & 63);
}

/// The pipe is kept for `cycles` from `cycle` on. Where an older micro-op starts in between, it had to wait
/// in truth; here, the time is taken behind it.
static inline void keep(struct pipeline *p, unsigned port, uint64_t cycle, unsigned cycles) {
    for (unsigned n = 1; n < cycles; n++) {
        cycle = free_from(p, port, cycle + 1);
        take(p, port, cycle);
    }
}

/// Whether the next entry of the queue is still in use. Then others may be free, or not.
static inline bool occupied(const struct pipeline *p, const struct queue *queue) {
    return (int32_t)(queue->starts[queue->next] - (uint32_t)(p->slot >> 2)) > 0;
}

/// A micro-op that starts at `cycle` gets the next entry, and the pipe.
static inline void enter(struct pipeline *p, unsigned port, uint64_t cycle) {
    struct queue *queue = &p->queue[port];
    const uint32_t next = queue->next;
    queue->starts[next] = queue->last = (uint32_t)cycle;
    queue->next = next + 1 == queue->entries ? 0 : next + 1;
    take(p, port, cycle);
}

/// Dispatch goes on at `cycle`, if that is later. Adds the cycles in which nothing is dispatched to
/// `stalled`, in ticks.
void stall_until(struct pipeline *p, uint64_t cycle, uint64_t *stalled);

// The slow paths of the three below, where the next entry of a queue is occupied: the micro-op takes another
// entry, goes to another pipe, or dispatch waits until it can.
uint64_t start_at_crowded(struct pipeline *p, unsigned port, uint64_t ready, unsigned cycles,
                          uint64_t *stalled);
uint64_t start_either_crowded(struct pipeline *p, unsigned port, uint64_t at, uint64_t ready,
                              uint64_t *stalled);
uint64_t start_integer_crowded(struct pipeline *p, uint64_t ready, uint64_t *stalled);

/// Gives a micro-op the pipe `port` for `cycles`. Returns when it starts, `ready` or later. Counts cycles
/// lost to full queues in `stalled`.
static inline uint64_t start_at(struct pipeline *p, unsigned port, uint64_t ready, unsigned cycles,
                                uint64_t *stalled) {
    if (__builtin_expect(occupied(p, &p->queue[port]), 0))
        return start_at_crowded(p, port, ready, cycles, stalled);
    const uint64_t at = free_from(p, port, ready);
    enter(p, port, at);
    keep(p, port, at, cycles);
    return at;
}

/// The same for the pipe `port` or the next one.
static inline uint64_t start_either(struct pipeline *p, unsigned port, uint64_t ready, uint64_t *stalled) {
    uint64_t at = ready;
    for (;;) {
        const uint64_t *busy = &row_of(p, at)->busy[port];
        const uint64_t free = ~(busy[0] & busy[1]) >> (at & 63);
        if (__builtin_expect(free != 0, 1)) {
            at += (uint64_t)__builtin_ctzll(free);
            // Where both are free, the one with less to do.
            const bool busier = (int32_t)(p->queue[port].last - p->queue[port + 1].last) > 0;
            port += ((busy[0] >> (at & 63)) | (~(busy[1] >> (at & 63)) & busier)) & 1;
            break;
        }
        at = (at | 63) + 1;
    }
    if (__builtin_expect(occupied(p, &p->queue[port]), 0))
        return start_either_crowded(p, port, at, ready, stalled);
    enter(p, port, at);
    return at;
}

/// The same for S0, S1 or M: M last, since some need it.
static inline uint64_t start_integer(struct pipeline *p, uint64_t ready, uint64_t *stalled) {
    uint64_t at = ready;
    unsigned port;
    for (;;) {
        const uint64_t *busy = row_of(p, at)->busy;
        const uint64_t free = ~(busy[PORT_S0] & busy[PORT_S1] & busy[PORT_M]) >> (at & 63);
        if (__builtin_expect(free != 0, 1)) {
            at += (uint64_t)__builtin_ctzll(free);
            const unsigned first = busy[PORT_S0] >> (at & 63) & 1, both = first & busy[PORT_S1] >> (at & 63);
            port = PORT_S0 + first + both;
            break;
        }
        at = (at | 63) + 1;
    }
    if (__builtin_expect(occupied(p, &p->queue[port]), 0))
        return start_integer_crowded(p, ready, stalled);
    enter(p, port, at);
    return at;
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
