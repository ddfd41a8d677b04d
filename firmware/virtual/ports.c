// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "ports.h"

uint64_t one_each[256];

void note_stray(struct pipeline *p, uint64_t cycle) {
    const uint64_t again = cycle + CALENDAR_WORDS * 64;
    if (p->strays == STRAYS)
        p->blind = again + ROW;
    else
        p->stray[(p->first_stray + p->strays++) % STRAYS] = again;
}

/// When an entry of a full queue of `pipes` is free first.
static struct spot find_room(const struct pipeline *p, uint64_t pipes) {
    uint64_t time = issue_cycle(&p->front), starts;
    while (!(starts = starts_from(p, time) & pipes))
        time = (time | 63) + 1;
    const unsigned bit = (unsigned)__builtin_ctzll(starts);
    return (struct spot){time + (bit & ~7u), starts >> (bit & ~7u) & 255, bit & 7};
}

/// Dispatch waits until `cycle`. Returns when the micro-op under way can start then.
static uint64_t wait_for_room(struct pipeline *p, uint64_t cycle, uint64_t ready) {
    stall_until(p, &p->front, cycle);
    return ready > cycle ? ready : cycle + CYCLE;
}

uint64_t start_at_crowded(struct pipeline *p, unsigned port, uint64_t ready) {
    return wait_for_room(p, find_room(p, PIPE_BITS(port)).cycle, ready);
}

uint64_t start_either_crowded(struct pipeline *p, unsigned port, uint64_t ready) {
    const unsigned other = port ^ 1;
    unsigned chosen = other;
    if (is_full(&p->front, other)) { // to the one that has room first
        const struct spot room = find_room(p, PIPE_BITS(port) | PIPE_BITS(other));
        chosen = room.free >> port & 1 ? port : other;
        ready = wait_for_room(p, room.cycle, ready);
    }
    const uint64_t at = free_from(p, chosen, ready);
    enter(p, &p->front, chosen, at);
    p->last[chosen] = at;
    return at;
}

uint64_t start_integer_crowded(struct pipeline *p, uint64_t ready) {
    uint64_t at = UINT64_MAX, full = 0;
    unsigned chosen = PORT_S0;
    for (unsigned port = PORT_S0; port <= PORT_M; port++) {
        if (is_full(&p->front, port)) {
            full |= PIPE_BITS(port);
            continue;
        }
        const uint64_t cycle = free_from(p, port, ready);
        if (cycle < at) {
            at = cycle;
            chosen = port;
        }
    }
    if (at == UINT64_MAX) {
        const struct spot room = find_room(p, full);
        chosen = room.pipe;
        at = free_from(p, chosen, wait_for_room(p, room.cycle, ready));
    }
    enter(p, &p->front, chosen, at);
    return at;
}
