// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "channel.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = CHANNEL_INTERVALS / 64 };

void channel_init(struct channel *channel, unsigned interval_shift) {
    *channel = (struct channel){.shift = interval_shift};
    channel->used = calloc(CHANNEL_INTERVALS, sizeof *channel->used);
    if (!channel->used)
        abort();
}

/// Moves the calendar on, by whole words, so that `interval` lies in the middle of it or before.
static void move_on(struct channel *channel, uint64_t interval) {
    const uint64_t first = (interval - CHANNEL_INTERVALS / 2) & ~UINT64_C(63);
    for (uint64_t past = channel->first; past < first && past < channel->first + CHANNEL_INTERVALS;
         past += 64) {
        channel->full[past / 64 % WORDS] = 0;
        memset(channel->used + past % CHANNEL_INTERVALS, 0, 64 * sizeof *channel->used);
    }
    channel->first = first;
}

/// The first interval from `interval` on that is not full.
static uint64_t find_free(struct channel *channel, uint64_t interval) {
    for (;;) {
        if (interval >= channel->first + CHANNEL_INTERVALS)
            move_on(channel, interval);
        const uint64_t left = ~channel->full[interval / 64 % WORDS] >> interval % 64;
        if (left)
            return interval + (uint64_t)__builtin_ctzll(left);
        interval = (interval | 63) + 1;
    }
}

uint64_t channel_book(struct channel *channel, uint64_t now, uint64_t cost) {
    uint64_t interval = now >> channel->shift;
    if (interval < channel->first)
        return now; // so long ago that it does not matter any more
    interval = find_free(channel, interval);
    const uint64_t length = UINT64_C(1) << channel->shift;
    const uint64_t from = (interval << channel->shift) + channel->used[interval % CHANNEL_INTERVALS];
    const uint64_t begin = from > now ? from : now;
    for (uint64_t rest = cost; rest; interval = find_free(channel, interval)) {
        uint16_t *used = &channel->used[interval % CHANNEL_INTERVALS];
        const uint64_t taken = rest < length - *used ? rest : length - *used;
        *used = (uint16_t)(*used + taken);
        rest -= taken;
        if (*used == length)
            channel->full[interval / 64 % WORDS] |= UINT64_C(1) << interval % 64;
    }
    if (begin + cost > channel->end)
        channel->end = begin + cost;
    return begin;
}
