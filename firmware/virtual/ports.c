// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "ports.h"

/// The micro-ops that start in the cycle `time` and the rest of its calendar's word, from bit 0 on.
static inline uint64_t starts(struct pipeline *p, uint64_t time) {
    return (*busy_at(p, time) & ~p->held[time / 64 % CALENDAR_WORDS]) >> (time & 63);
}

void leave_queues(struct pipeline *p, uint64_t now) {
    uint64_t time = p->counted + CYCLE;
    while (time <= now && p->waiting != NONE_WAITING) {
        const uint64_t started = starts(p, time);
        if (started & 255)
            p->waiting -= one_each(started & 255);
        time = started ? time + CYCLE : (time | 63) + 1;
    }
    p->counted = now;
}

/// When an entry of the full queue is free.
static uint64_t room_at(struct pipeline *p, unsigned port) {
    uint64_t time = p->counted + CYCLE, started;
    while (!(started = starts(p, time) & PIPE_BITS(port)))
        time = (time | 63) + 1;
    return time + ((unsigned)__builtin_ctzll(started) & ~7u);
}

/// Dispatch waits until `cycle`. Returns when the micro-op under way can start then.
static uint64_t wait_for_room(struct pipeline *p, uint64_t cycle, uint64_t ready, uint64_t *stalled) {
    stall_until(p, cycle, stalled);
    return ready > cycle ? ready : cycle + CYCLE;
}

uint64_t start_at_crowded(struct pipeline *p, unsigned port, uint64_t ready, uint64_t *stalled) {
    return wait_for_room(p, room_at(p, port), ready, stalled);
}

uint64_t start_either_crowded(struct pipeline *p, unsigned port, uint64_t ready,
                              uint64_t *stalled) {
    const unsigned other = port ^ 1;
    unsigned chosen = other;
    if (is_full(p, other)) { // to the one that has room first
        const uint64_t room = room_at(p, port), other_room = room_at(p, other);
        chosen = room <= other_room ? port : other;
        ready = wait_for_room(p, room <= other_room ? room : other_room, ready, stalled);
    }
    const uint64_t at = free_from(p, chosen, ready);
    enter(p, chosen, at);
    p->last[chosen] = at;
    return at;
}

uint64_t start_integer_crowded(struct pipeline *p, uint64_t ready, uint64_t *stalled) {
    uint64_t at = UINT64_MAX, room = UINT64_MAX;
    unsigned chosen = PORT_S0;
    for (unsigned port = PORT_S0; port <= PORT_M; port++) {
        if (is_full(p, port))
            continue;
        const uint64_t cycle = free_from(p, port, ready);
        if (cycle < at) {
            at = cycle;
            chosen = port;
        }
    }
    for (unsigned port = PORT_S0; port <= PORT_M && at == UINT64_MAX; port++) {
        const uint64_t cycle = room_at(p, port);
        if (cycle < room) {
            room = cycle;
            chosen = port;
        }
    }
    if (at == UINT64_MAX)
        at = free_from(p, chosen, wait_for_room(p, room, ready, stalled));
    enter(p, chosen, at);
    return at;
}
