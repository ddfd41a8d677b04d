// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// A set-associative tag store with tree pseudo-LRU replacement, which is what a Cortex-A76's L1D does (TRM);
// for L2 and L3, whose policies are not published, it is a stand-in.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "options.h"

enum { LINE_SHIFT = 6, LINE_BYTES = 1 << LINE_SHIFT, LINE_BITS = 30, MAX_WAYS = 16 };

/// An entry is a line number (address / LINE_BYTES, of LINE_BITS bits) shifted left by 2, and two flags.
enum { LINE_DIRTY = 1, LINE_PREFETCHED = 2, LINE_FLAGS = 3 };
#define NO_LINE UINT32_C(0xfffffffc)

static inline uint32_t tag_of(uint64_t line) {
    return (uint32_t)line << 2;
}

struct cache {
    uint32_t *entry; // sets x stride
    uint16_t *tree;  // of each set: bit n is node n of a binary tree, and tells which half to replace next
    uint32_t set_mask;
    unsigned ways;                            // a power of two, up to MAX_WAYS
    unsigned stride, stride_shift;            // ways, at least 4 (the rest holds NO_LINE); its logarithm
    uint16_t keep[MAX_WAYS], point[MAX_WAYS]; // by way: after its use, tree = (tree & keep) | point
    uint8_t victim[256];                      // by tree, up to 8 ways: the way to replace
    uint64_t *ready; // by entry: when the line is there, in ticks; NULL unless the model is a timed one
};

/// Allocates the tag store, empty, and the times at which lines arrive where `timed`. Ends the process when
/// there is no memory.
void cache_init(struct cache *cache, const struct geometry *geometry, bool timed);

/// Makes `to`, of the same geometry or new, hold what `from` holds.
void cache_copy(struct cache *to, const struct cache *from);

static inline uint32_t cache_index(const struct cache *cache, uint64_t line) {
    return (uint32_t)line & cache->set_mask;
}

#ifdef __SSE2__
/// One bit for each of four ways: set where `set` holds `tag`.
static inline unsigned match_four(const uint32_t *set, uint32_t tag) {
    const __m128i four = _mm_andnot_si128(_mm_set1_epi32(LINE_FLAGS), _mm_load_si128((const __m128i *)set));
    return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, _mm_set1_epi32((int)tag))));
}
#else
static inline unsigned match_four(const uint32_t *set, uint32_t tag) {
    unsigned ways = 0;
    for (unsigned way = 0; way < 4; way++)
        ways |= (unsigned)((set[way] & ~(uint32_t)LINE_FLAGS) == tag) << way;
    return ways;
}
#endif

/// The place of `line`'s entry, or NULL. Which way matches is not predictable, so that no branch depends on
/// it.
static inline uint32_t *cache_find(const struct cache *cache, uint64_t line) {
    uint32_t *set = cache->entry + ((size_t)cache_index(cache, line) << cache->stride_shift);
    const uint32_t tag = tag_of(line);
    unsigned ways = match_four(set, tag);
    if (cache->stride_shift > 2)
        ways |= match_four(set + 4, tag) << 4;
    if (cache->stride_shift > 3)
        ways |= match_four(set + 8, tag) << 8 | match_four(set + 12, tag) << 12;
    return ways ? set + __builtin_ctz(ways) : NULL;
}

/// Notes the use of `entry`, which cache_find returned.
static inline void cache_use(const struct cache *cache, const uint32_t *entry) {
    const size_t place = (size_t)(entry - cache->entry);
    const size_t way = place & (cache->stride - 1);
    uint16_t *tree = &cache->tree[place >> cache->stride_shift];
    *tree = (*tree & cache->keep[way]) | cache->point[way];
}

/// The way that the tree points to.
static inline unsigned cache_victim(unsigned ways, unsigned tree) {
    unsigned node = 1;
    while (node < ways)
        node = node * 2 + (tree >> node & 1);
    return node - ways;
}

/// Lets `entry`, which cache_find returned, be the next one of its set to leave.
static inline void cache_release(const struct cache *cache, const uint32_t *entry) {
    const size_t place = (size_t)(entry - cache->entry);
    const size_t way = place & (cache->stride - 1);
    uint16_t *tree = &cache->tree[place >> cache->stride_shift];
    *tree = (uint16_t)((*tree & cache->keep[way]) | (~cache->keep[way] & ~cache->point[way]));
}

/// When the line of `entry` is there. (Not timed: always.)
static inline uint64_t cache_ready(const struct cache *cache, const uint32_t *entry) {
    return cache->ready ? cache->ready[entry - cache->entry] : 0;
}

/// Adds a line that is not in the cache, and is there from `ready` on. Returns the entry that had to leave,
/// or NO_LINE.
static inline uint32_t cache_insert(const struct cache *cache, uint64_t line, uint32_t flags,
                                    uint64_t ready) {
    const uint32_t index = cache_index(cache, line);
    const unsigned tree = cache->tree[index];
    const unsigned way = cache->ways <= 8 ? cache->victim[tree] : cache_victim(cache->ways, tree);
    cache->tree[index] = (uint16_t)((tree & cache->keep[way]) | cache->point[way]);
    uint32_t *entry = cache->entry + ((size_t)index << cache->stride_shift) + way;
    const uint32_t old = *entry;
    *entry = tag_of(line) | flags;
    if (cache->ready)
        cache->ready[entry - cache->entry] = ready;
    return old;
}

/// Takes a line out. Returns its entry, or NO_LINE where it was not in.
static inline uint32_t cache_remove(const struct cache *cache, uint64_t line) {
    uint32_t *entry = cache_find(cache, line);
    if (!entry)
        return NO_LINE;
    const uint32_t old = *entry;
    *entry = NO_LINE;
    return old;
}
