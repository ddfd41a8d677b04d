// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// A resource that serves one request after the other, such as a memory bus, and registers that requests hold
// while they are under way, such as a cache's miss registers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

enum { CHANNEL_INTERVALS = 1024, MISSES_RING = 128 };
_Static_assert((int)MISSES_MAX < (int)MISSES_RING, "all registers have room in the ring");

/// Where requests come in the order of their times, `end` is all there is to know. An out-of-order core's do
/// not: for it, a calendar of the last intervals keeps how much of each is taken, and a request may use what
/// is left of an earlier one.
struct channel {
    uint64_t end;   // when all that was asked for is done
    unsigned shift; // an interval has 1 << shift ticks
    uint64_t first; // number of the calendar's first interval
    uint16_t *used; // ticks of each interval that are taken; NULL: no calendar
    uint64_t full[CHANNEL_INTERVALS / 64];
};

/// Gives the channel a calendar. Ends the process when there is no memory.
void channel_init(struct channel *channel, unsigned interval_shift);

uint64_t channel_book(struct channel *channel, uint64_t now, uint64_t cost);

/// A request at `now` that takes `cost` ticks. Returns when it begins.
static inline uint64_t channel_take(struct channel *channel, uint64_t now, uint64_t cost) {
    if (channel->used)
        return channel_book(channel, now, cost);
    const uint64_t begin = channel->end > now ? channel->end : now;
    channel->end = begin + cost;
    return begin;
}

/// The registers are alike: only when they become free matters, and is kept in ascending order.
struct misses {
    unsigned count; // 0: without limit
    unsigned first;
    uint64_t until[MISSES_RING]; // count of them from `first` on, around the end
};

/// Whether a register is free at `now`.
static inline bool misses_free(const struct misses *misses, uint64_t now) {
    return misses->until[misses->first] <= now;
}

/// When one is, at `now` or later.
static inline uint64_t misses_wait(const struct misses *misses, uint64_t now) {
    const uint64_t free = misses->until[misses->first];
    return free > now ? free : now;
}

/// Takes it until `then`.
static inline void misses_hold(struct misses *misses, uint64_t then) {
    if (!misses->count)
        return;
    misses->first = (misses->first + 1) % MISSES_RING;
    unsigned place = misses->first + misses->count - 1;
    while (place > misses->first && misses->until[(place - 1) % MISSES_RING] > then) {
        misses->until[place % MISSES_RING] = misses->until[(place - 1) % MISSES_RING];
        place--;
    }
    misses->until[place % MISSES_RING] = then;
}

/// When the last one is free again.
static inline uint64_t misses_end(const struct misses *misses) {
    return misses->count ? misses->until[(misses->first + misses->count - 1) % MISSES_RING] : 0;
}
