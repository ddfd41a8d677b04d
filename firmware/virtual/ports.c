// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "ports.h"

/// Micro-ops in the queue at `cycle`, at most `enough`; `leaves`: when the first of them does.
static unsigned waiting(struct pipeline *p, unsigned port, uint64_t cycle, unsigned enough,
                        uint64_t *leaves) {
    unsigned count = 0;
    for (uint64_t from = cycle + 1; from <= p->last[port] && count < enough; from = (from | 63) + 1) {
        const uint64_t starts = row_of(p, from)->starts[port] >> (from & 63);
        if (starts && !count)
            *leaves = from + (uint64_t)__builtin_ctzll(starts);
        count += (unsigned)__builtin_popcountll(starts);
    }
    return count;
}

uint64_t start_crowded(struct pipeline *p, unsigned unit, uint64_t ready, unsigned cycles,
                       uint64_t *stalled) {
    const unsigned first = unit_ports[unit].first, count = unit_ports[unit].count;
    for (;;) {
        const uint64_t now = p->slot >> 2;
        uint64_t best = UINT64_MAX, room = UINT64_MAX;
        unsigned chosen = 0;
        ready = ready > now ? ready : now + 1;
        for (unsigned port = first; port < first + count; port++) {
            uint64_t leaves = 0;
            if (waiting(p, port, now, queue_entries[port], &leaves) >= queue_entries[port]) {
                room = leaves < room ? leaves : room;
                continue;
            }
            const uint64_t at = free_for(p, port, ready, cycles);
            if (at < best) {
                best = at;
                chosen = port;
            }
        }
        if (best != UINT64_MAX) {
            take(p, chosen, best, cycles);
            return best;
        }
        stall_until(p, room, stalled);
    }
}
