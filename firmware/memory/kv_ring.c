// SPDX-License-Identifier: Apache-2.0
#include "memory/kv_ring.h"

#include "arch/string.h"
#include "hal/pmu.h"

#define CACHE_LINE 64

_Static_assert(KV_MAP_ENTRIES <= UINT16_MAX, "a physical page does not fit the map's entries");

uint16_t kv_index_map[KV_MAP_ENTRIES] __attribute__((aligned(CACHE_LINE)));
static struct { uint64_t count __attribute__((aligned(CACHE_LINE))); } lookups[BOARD_CORES];

static unsigned ring_pages(const struct kv_ring *ring) {
    return ring->page_count - 1;
}

// Slot of a position: page 0 is fixed, the others go round.
static uint32_t slot_of(const struct kv_ring *ring, uint32_t position) {
    uint32_t ring_slots = ring_pages(ring) * KV_PAGE_TOKENS;
    if (position < KV_PAGE_TOKENS)
        return position;
    return KV_PAGE_TOKENS + (position - KV_PAGE_TOKENS) % ring_slots;
}

static size_t align_line(size_t bytes) {
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static size_t page_memory(const struct kv_shape *shape) {
    size_t pages = KV_PAGES(shape->context, shape->batch);
    return (size_t)shape->layers * shape->kv_heads * pages * KV_PAGE_BYTES(shape->head_dim);
}

static size_t token_memory(const struct kv_shape *shape) {
    return (size_t)KV_PAGES(shape->context, shape->batch) * KV_PAGE_TOKENS * sizeof(uint32_t);
}

size_t kv_ring_bytes(const struct kv_shape *shape) {
    return align_line(page_memory(shape)) + align_line(token_memory(shape));
}

bool kv_ring_init(struct kv_ring *ring, const struct kv_shape *shape, struct memory_pool *pool) {
    if (shape->context <= KV_SINKS || shape->batch == 0 ||
        KV_PAGES(shape->context, shape->batch) > KV_MAP_ENTRIES)
        return false;
    *ring = (struct kv_ring){.shape = *shape, .page_count = KV_PAGES(shape->context, shape->batch)};
    ring->pages = pool_take(pool, align_line(page_memory(shape)), CACHE_LINE);
    ring->tokens = pool_take(pool, align_line(token_memory(shape)), CACHE_LINE);
    if (!ring->pages || !ring->tokens)
        return false;
    memset(ring->pages, 0, page_memory(shape));
    memset(ring->tokens, 0, token_memory(shape));
    pmu_watch(kv_index_map, sizeof kv_index_map);
    kv_ring_reset(ring);
    return true;
}

void kv_ring_reset(struct kv_ring *ring) {
    ring->length = 0;
    ring->first_page = 1;
    kv_index_map[0] = 0;
}

// Adds the ring page with absolute number `page` to the map. The page whose memory it takes over leaves it:
// by then no query can see that one (see KV_PAGES).
static void open_page(struct kv_ring *ring, uint32_t page) {
    uint32_t held = page - ring->first_page;
    if (held == ring_pages(ring)) {
        memmove(&kv_index_map[1], &kv_index_map[2], (held - 1) * sizeof kv_index_map[0]);
        ring->first_page++;
        held--;
    }
    kv_index_map[1 + held] = (uint16_t)(1 + (page - 1) % ring_pages(ring));
}

void kv_ring_append(struct kv_ring *ring, const uint32_t *tokens, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        uint32_t position = ring->length++;
        if (position % KV_PAGE_TOKENS == 0 && position > 0)
            open_page(ring, position / KV_PAGE_TOKENS);
        ring->tokens[slot_of(ring, position)] = tokens[i];
    }
}

bool kv_ring_holds(const struct kv_ring *ring, uint32_t keep) {
    if (keep > ring->length)
        return false;
    if (keep <= KV_PAGE_TOKENS || ring->first_page == 1)
        return true;
    uint32_t first = kv_first_visible(ring, keep);
    return first >= ring->first_page * KV_PAGE_TOKENS;
}

void kv_ring_rewind(struct kv_ring *ring, uint32_t keep) {
    ring->length = keep;
    if (keep <= KV_PAGE_TOKENS)
        ring->first_page = 1;
}

uint8_t *kv_ring_page(const struct kv_ring *ring, unsigned core, unsigned layer, unsigned head,
                      uint32_t page) {
    uint32_t entry = page == 0 ? 0 : 1 + page - ring->first_page;
    lookups[core].count++;
    size_t physical = ((size_t)layer * ring->shape.kv_heads + head) * ring->page_count + kv_index_map[entry];
    return ring->pages + physical * KV_PAGE_BYTES(ring->shape.head_dim);
}

uint32_t kv_ring_token(const struct kv_ring *ring, uint32_t position) {
    return ring->tokens[slot_of(ring, position)];
}

void kv_ring_state(const struct kv_ring *ring, struct kv_state *state) {
    const struct kv_shape *shape = &ring->shape;
    uint32_t ring_slots = ring_pages(ring) * KV_PAGE_TOKENS;
    uint32_t beyond = ring->length > KV_PAGE_TOKENS ? ring->length - KV_PAGE_TOKENS : 0;
    uint32_t newest = ring->length ? ring->length - 1 : 0;
    uint32_t first = kv_first_visible(ring, newest);
    *state = (struct kv_state){
        .capacity = ring->page_count * KV_PAGE_TOKENS,
        .context = shape->context,
        .sinks = KV_SINKS,
        .length = ring->length,
        .start = slot_of(ring, first > KV_SINKS          ? first
                               : ring->length < KV_SINKS ? ring->length
                                                         : KV_SINKS),
        .end = slot_of(ring, ring->length),
        .wraps = beyond / ring_slots,
        .page_tokens = KV_PAGE_TOKENS,
        .bytes_per_token =
            shape->layers * shape->kv_heads * (KV_PAGE_BYTES(shape->head_dim) / KV_PAGE_TOKENS),
        .map_entries = ring->page_count,
    };
    for (unsigned core = 0; core < BOARD_CORES; core++)
        state->map_lookups += lookups[core].count;
    pmu_watch_read(&state->map_accesses, &state->map_refills);
}
