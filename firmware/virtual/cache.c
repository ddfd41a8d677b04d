// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "cache.h"

#include <stdlib.h>

void cache_init(struct cache *cache, const struct geometry *geometry, bool timed) {
    cache->ways = geometry->ways;
    cache->stride = geometry->ways > 4 ? geometry->ways : 4;
    cache->stride_shift = (unsigned)__builtin_ctz(cache->stride);
    const size_t sets = geometry->bytes / LINE_BYTES / geometry->ways;
    cache->set_mask = (uint32_t)sets - 1;
    cache->entry = aligned_alloc(64, (sets * cache->stride * sizeof *cache->entry + 63) & ~(size_t)63);
    cache->tree = calloc(sets, sizeof *cache->tree);
    if (timed)
        cache->ready = calloc(sets * cache->stride, sizeof *cache->ready);
    if (!cache->entry || !cache->tree || (timed && !cache->ready))
        abort();
    for (size_t i = 0; i < sets * cache->stride; i++)
        cache->entry[i] = NO_LINE;
    for (unsigned way = 0; way < cache->ways; way++) {
        cache->keep[way] = 0xffff;
        for (unsigned node = way + cache->ways; node > 1;
             node /= 2) { // each node above now points to the other half
            cache->keep[way] &= (uint16_t) ~(1u << node / 2);
            cache->point[way] |= (uint16_t)((~node & 1u) << node / 2);
        }
    }
    for (unsigned tree = 0; tree < 256 && cache->ways <= 8; tree++)
        cache->victim[tree] = (uint8_t)cache_victim(cache->ways, tree);
}

void cache_copy(struct cache *to, const struct cache *from) {
    const size_t sets = (size_t)from->set_mask + 1;
    if (!to->entry) {
        const struct geometry geometry = {.bytes = sets * from->ways * LINE_BYTES, .ways = from->ways};
        cache_init(to, &geometry, false);
    }
    memcpy(to->entry, from->entry, sets * from->stride * sizeof *to->entry);
    memcpy(to->tree, from->tree, sets * sizeof *to->tree);
}
