// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Pipes and their issue queues: finds the cycle at which a micro-op starts. Older instructions come first; a
// younger one takes what they left free.
#pragma once

#include "pipeline.h"

/// Issue queues (AnandTech, from Arm): 16 entries each, but 12 for load/store. A queue's micro-ops are those
/// whose start lies beyond the dispatch cycle.
static const uint8_t queue_entries[PORTS] = {[PORT_B] = 16,  [PORT_S0] = 16, [PORT_S1] = 16, [PORT_M] = 16,
                                             [PORT_V0] = 16, [PORT_V1] = 16, [PORT_L0] = 12, [PORT_L1] = 12};

static const struct {
    uint8_t first, count;
} unit_ports[UNITS] = {
    [UNIT_B] = {PORT_B, 1},   [UNIT_I] = {PORT_S0, 3},  [UNIT_M] = {PORT_M, 1}, [UNIT_V] = {PORT_V0, 2},
    [UNIT_V0] = {PORT_V0, 1}, [UNIT_V1] = {PORT_V1, 1}, [UNIT_L] = {PORT_L0, 2}};

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

/// The same for several cycles in a row.
static inline uint64_t free_for(struct pipeline *p, unsigned port, uint64_t cycle, unsigned cycles) {
    cycle = free_from(p, port, cycle);
    for (unsigned more = 1; more < cycles; more++)
        if (free_from(p, port, cycle + more) != cycle + more) {
            cycle = free_from(p, port, cycle + more);
            more = 0;
        }
    return cycle;
}

static inline void take(struct pipeline *p, unsigned port, uint64_t cycle, unsigned cycles) {
    struct ring_row *row = row_of(p, cycle);
    const uint64_t bit = UINT64_C(1) << (cycle & 63);
    row->busy[port] |= bit;
    row->starts[port] |= bit;
    for (unsigned more = 1; more < cycles; more++)
        row_of(p, cycle + more)->busy[port] |= UINT64_C(1) << ((cycle + more) & 63);
    if (cycle > p->last[port])
        p->last[port] = cycle;
}

/// Dispatch goes on at `cycle`, if that is later. Adds the cycles in which nothing is dispatched to
/// `stalled`, in ticks.
void stall_until(struct pipeline *p, uint64_t cycle, uint64_t *stalled);

/// The micro-op cannot go where it should, because of a full queue: another pipe of the unit, or a later
/// dispatch. Moves p->slot; counts lost cycles in `stalled`.
uint64_t start_crowded(struct pipeline *p, unsigned unit, uint64_t ready, unsigned cycles, uint64_t *stalled);

/// Whether the queue may be full at the dispatch cycle: it cannot be where its last start is near.
static inline bool crowded(const struct pipeline *p, unsigned port) {
    return p->last[port] >= (p->slot >> 2) + queue_entries[port];
}

/// Gives a micro-op a pipe of `unit` for `cycles`. Returns when it starts, `ready` or later.
static inline uint64_t start(struct pipeline *p, unsigned unit, uint64_t ready, unsigned cycles,
                             uint64_t *stalled) {
    unsigned port = unit_ports[unit].first;
    uint64_t at;
    switch (unit) {
    case UNIT_I: // M last: others need it
        at = free_from(p, PORT_S0, ready);
        if (at != ready) {
            const uint64_t second = free_from(p, PORT_S1, ready);
            if (second < at) {
                at = second;
                port = PORT_S1;
            }
            if (at != ready) {
                const uint64_t third = free_from(p, PORT_M, ready);
                if (third < at) {
                    at = third;
                    port = PORT_M;
                }
            }
        }
        break;
    case UNIT_V:
    case UNIT_L: {
        at = free_from(p, port, ready);
        const uint64_t other = free_from(p, port + 1, ready);
        if (other < at || (other == at && p->last[port + 1] < p->last[port])) {
            at = other;
            port++;
        }
        break;
    }
    default:
        at = free_for(p, port, ready, cycles);
    }
    if (__builtin_expect(crowded(p, port), 0))
        return start_crowded(p, unit, ready, cycles, stalled);
    take(p, port, at, cycles);
    return at;
}
