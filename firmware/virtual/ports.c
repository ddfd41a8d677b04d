// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "ports.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/// Entries of the queue whose micro-ops have started by the cycle `now`, a bit each.
static unsigned started(const struct queue *queue, uint32_t now) {
#ifdef __SSE2__
    const __m128i beyond = _mm_set1_epi32((int)(now + 1)), *four = (const __m128i *)queue->starts;
    const __m128i low = _mm_packs_epi32(_mm_sub_epi32(four[0], beyond), _mm_sub_epi32(four[1], beyond));
    const __m128i high = _mm_packs_epi32(_mm_sub_epi32(four[2], beyond), _mm_sub_epi32(four[3], beyond));
    const unsigned bits = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#else
    unsigned bits = 0;
    for (unsigned n = 0; n < QUEUE; n++)
        bits |= (unsigned)((int32_t)(queue->starts[n] - now) <= 0) << n;
#endif
    return bits & ((1u << queue->entries) - 1);
}

/// A free entry of the queue at the cycle `now`; or NULL, and queue->full says when the next one is.
static uint32_t *find_entry(struct queue *queue, uint32_t now) {
    if ((int32_t)(queue->full - now) > 0)
        return NULL;
    const unsigned free = started(queue, now);
    if (free)
        return &queue->starts[__builtin_ctz(free)];
    queue->full = now + 1;
    unsigned leaving = started(queue, now + 1); // usually one
    if (!leaving) {
        uint32_t least = queue->starts[0] - now;
        for (unsigned n = 1; n < queue->entries; n++)
            least = queue->starts[n] - now < least ? queue->starts[n] - now : least;
        queue->full = now + least;
        leaving = started(queue, queue->full);
    }
    queue->next = (uint32_t)__builtin_ctz(leaving);
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
    at = free_from(p, chosen, ready > cycle ? ready : cycle + 1);
    enter(p, chosen, at);
    return at;
}

uint64_t start_at_crowded(struct pipeline *p, unsigned port, uint64_t ready, unsigned cycles,
                          uint64_t *stalled) {
    struct queue *queue = &p->queue[port];
    uint32_t *entry = find_entry(queue, (uint32_t)(p->slot >> 2));
    if (entry) {
        queue->next = (uint32_t)(entry - queue->starts);
    } else {
        const uint64_t cycle = (p->slot >> 2) + (queue->full - (uint32_t)(p->slot >> 2));
        stall_until(p, cycle, stalled);
        ready = ready > cycle ? ready : cycle + 1;
    }
    const uint64_t at = free_from(p, port, ready);
    enter(p, port, at);
    keep(p, port, at, cycles);
    return at;
}

uint64_t start_integer_crowded(struct pipeline *p, uint64_t ready, uint64_t *stalled) {
    const uint32_t now = (uint32_t)(p->slot >> 2);
    uint64_t at = UINT64_MAX;
    uint32_t *entry = NULL, room = UINT32_MAX;
    unsigned chosen = PORT_S0;
    for (unsigned each = PORT_S0; each <= PORT_M; each++) {
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
    if (entry)
        return enter_at(p, chosen, entry, at);
    const uint64_t cycle = (p->slot >> 2) + room;
    stall_until(p, cycle, stalled);
    at = free_from(p, chosen, ready > cycle ? ready : cycle + 1);
    enter(p, chosen, at);
    return at;
}
