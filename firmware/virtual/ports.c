// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "ports.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/// Entries of the queue whose micro-ops have started by the cycle `now`, a bit each.
static unsigned started(const struct queue *queue, uint32_t now) {
#ifdef __SSE2__
    const __m128i beyond = _mm_set1_epi32((int)(now + 1)), *four = (const __m128i *)queue->starts;
    unsigned bits = 0;
    for (unsigned n = 0; n < QUEUE / 4; n++)
        bits |= (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_sub_epi32(four[n], beyond))) << n * 4;
    return bits;
#else
    unsigned bits = 0;
    for (unsigned n = 0; n < QUEUE; n++)
        bits |= (unsigned)((int32_t)(queue->starts[n] - now) <= 0) << n;
    return bits;
#endif
}

/// When the next micro-op leaves the full queue.
static uint32_t next_start(const struct queue *queue, uint32_t now) {
    if (queue->starts[queue->next] == now + 1) // usually
        return now + 1;
    uint32_t least = queue->starts[0] - now;
    for (unsigned n = 1; n < queue->entries; n++)
        least = queue->starts[n] - now < least ? queue->starts[n] - now : least;
    return now + least;
}

/// A free entry of the queue at the cycle `now`; or NULL, and queue->full says when there is one.
static uint32_t *find_entry(struct queue *queue, uint32_t now) {
    if ((int32_t)(queue->full - now) > 0)
        return NULL;
    const unsigned free = started(queue, now) & ((1u << queue->entries) - 1);
    if (free)
        return &queue->starts[__builtin_ctz(free)];
    queue->full = next_start(queue, now);
    return NULL;
}

/// As enter(), into any entry; the next micro-op looks behind it.
static uint64_t enter_at(struct pipeline *p, unsigned port, uint32_t *entry, uint64_t cycle) {
    p->queue[port].next = (uint32_t)(entry - p->queue[port].starts);
    enter(p, port, cycle);
    return cycle;
}

uint64_t start_either_crowded(struct pipeline *p, unsigned port, uint64_t at, uint64_t ready,
                              uint64_t *stalled) {
    const uint32_t now = (uint32_t)(p->slot >> 2);
    uint32_t *entry = find_entry(&p->queue[port], now);
    if (entry)
        return enter_at(p, port, entry, at);
    const unsigned other = port ^ 1;
    entry = find_entry(&p->queue[other], now);
    if (entry)
        return enter_at(p, other, entry, free_from(p, other, ready));
    // To the one that has room first.
    const uint32_t wait = p->queue[port].full - now, other_wait = p->queue[other].full - now;
    const unsigned chosen = wait <= other_wait ? port : other;
    const uint64_t cycle = (p->slot >> 2) + (wait <= other_wait ? wait : other_wait);
    stall_until(p, cycle, stalled);
    entry = find_entry(&p->queue[chosen], (uint32_t)cycle);
    return enter_at(p, chosen, entry, free_from(p, chosen, ready > cycle ? ready : cycle + 1));
}

uint64_t start_crowded(struct pipeline *p, unsigned port, unsigned count, uint64_t ready, unsigned cycles,
                       uint64_t *stalled) {
    const uint32_t now = (uint32_t)(p->slot >> 2);
    uint64_t at = UINT64_MAX;
    uint32_t *entry = NULL, room = UINT32_MAX;
    unsigned chosen = port;
    for (unsigned each = port; each < port + count; each++) {
        uint32_t *free = find_entry(&p->queue[each], now);
        const uint64_t cycle = free ? free_from(p, each, ready) : UINT64_MAX;
        if (cycle < at) {
            at = cycle;
            chosen = each;
            entry = free;
        } else if (!entry && p->queue[each].full - now < room) {
            room = p->queue[each].full - now;
            chosen = each;
        }
    }
    if (!entry) {
        const uint64_t cycle = (p->slot >> 2) + room;
        stall_until(p, cycle, stalled);
        at = free_from(p, chosen, ready > cycle ? ready : cycle + 1);
        entry = find_entry(&p->queue[chosen], (uint32_t)cycle);
    }
    enter_at(p, chosen, entry, at);
    keep(p, chosen, at, cycles);
    return at;
}
