// SPDX-License-Identifier: Apache-2.0
// The KV ring: pages of 32 tokens per layer and KV head, in the KV_CACHE_POOL.
//
// A query at position p sees key q when q <= p and (q < KV_SINKS or q > p - window), with window = context -
// KV_SINKS. Page 0 always holds positions 0..31, for the sinks' sake; the other pages form a ring. The ring
// is one page longer than window + batch, so that a whole batch can be appended before its first query runs,
// however positions fall on pages: results then do not depend on how a prompt is cut into batches.
//
// One page of one layer and head, head_dim d:
//   keys    int8  [8 key quads][d / 4][4 keys][4 dims]   rotated at their absolute position
//   values  int8  [8 key quads][d][4 keys]
//   key scales f32[32], value scales f32[32]
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board_config.h"
#include "memory/pools.h"
#include "schema/wire.h"

#define KV_PAGE_TOKENS 32
#define KV_SINKS       BOARD_SINKS

/// Pages that `context` visible tokens and batches of `batch` need, the sink page included.
#define KV_PAGES(context, batch)                                                                             \
    (1 + ((context)-KV_SINKS + (batch) + 2 * KV_PAGE_TOKENS - 2) / KV_PAGE_TOKENS)

/// Bytes of one page of one layer and KV head.
#define KV_PAGE_BYTES(head_dim) (2u * KV_PAGE_TOKENS * (head_dim) + 2u * KV_PAGE_TOKENS * sizeof(float))

/// The board's number of pages, and so of entries of the map.
#define KV_MAP_ENTRIES KV_PAGES(BOARD_CONTEXT, BOARD_BATCH)

struct kv_shape {
    unsigned layers, kv_heads, head_dim;
    unsigned context; // tokens a query can see: KV_SINKS + window, at most BOARD_CONTEXT
    unsigned batch;   // tokens appended at once, at most BOARD_BATCH
};

struct kv_ring {
    struct kv_shape shape;
    uint8_t *pages;      // [layers][kv_heads][page_count][page bytes]
    uint32_t *tokens;    // [page_count * KV_PAGE_TOKENS]: the id in each slot
    unsigned page_count; // physical, sink page included
    uint32_t length;     // tokens appended and kept
    uint32_t first_page; // absolute number (position / 32) of the oldest ring page still held; 1 at first
};

/// Physical page of each held page, oldest first; entry 0 is the sink page. Attention walks it in ascending
/// order.
extern uint16_t kv_index_map[KV_MAP_ENTRIES];

/// Bytes that kv_ring_init takes from its pool: pages, then token ids, each 64-byte aligned.
size_t kv_ring_bytes(const struct kv_shape *shape);

/// Takes and clears the memory and forgets all tokens. False when the pool is too small or the shape exceeds
/// the map.
bool kv_ring_init(struct kv_ring *ring, const struct kv_shape *shape, struct memory_pool *pool);

void kv_ring_reset(struct kv_ring *ring);

/// Opens slots for `count` more tokens (at most shape.batch), to be filled by kv_cache_update.
void kv_ring_append(struct kv_ring *ring, const uint32_t *tokens, unsigned count);

/// True when the first `keep` tokens can be kept: they exist, and all that the next query may see is still
/// held.
bool kv_ring_holds(const struct kv_ring *ring, uint32_t keep);

/// Forgets the tokens from `keep` on; kv_ring_holds(ring, keep) must be true.
void kv_ring_rewind(struct kv_ring *ring, uint32_t keep);

/// First position after the sinks that a query at `position` sees; the sinks themselves are visible from 0
/// on.
static inline uint32_t kv_first_visible(const struct kv_ring *ring, uint32_t position) {
    return position < ring->shape.context ? 0 : position - (ring->shape.context - KV_SINKS) + 1;
}

/// Tokens that a query at `position` sees.
static inline uint32_t kv_visible(const struct kv_ring *ring, uint32_t position) {
    return position < ring->shape.context ? position + 1 : ring->shape.context;
}

/// Page of one layer and head that holds position / 32 == `page`, through the map. `core` is the caller's:
/// each counts its own look-ups.
uint8_t *kv_ring_page(const struct kv_ring *ring, unsigned core, unsigned layer, unsigned head,
                      uint32_t page);

/// Where the keys, values and scales of a page start.
static inline int8_t *kv_keys(uint8_t *page) {
    return (int8_t *)page;
}
static inline int8_t *kv_values(uint8_t *page, unsigned head_dim) {
    return (int8_t *)page + (size_t)KV_PAGE_TOKENS * head_dim;
}
static inline float *kv_key_scales(uint8_t *page, unsigned head_dim) {
    return (float *)(page + (size_t)2 * KV_PAGE_TOKENS * head_dim);
}
static inline float *kv_value_scales(uint8_t *page, unsigned head_dim) {
    return kv_key_scales(page, head_dim) + KV_PAGE_TOKENS;
}

/// Id of the token at `position`, which is held.
uint32_t kv_ring_token(const struct kv_ring *ring, uint32_t position);

/// Oldest position whose token id is held without a gap up to the newest.
static inline uint32_t kv_ring_oldest(const struct kv_ring *ring) {
    return ring->first_page == 1 ? 0 : ring->first_page * KV_PAGE_TOKENS;
}

/// Fills a KV_STATE message, with map lookups since boot and what the board counted on the map's cache lines.
void kv_ring_state(const struct kv_ring *ring, struct kv_state *state);
