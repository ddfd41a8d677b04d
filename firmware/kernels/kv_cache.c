// SPDX-License-Identifier: Apache-2.0
#include "kernels/kv_cache.h"

#include "arch/string.h"
#include "kernels/rope.h"
#include "schema/image.h"

static void store_token(uint8_t *page, unsigned head_dim, unsigned slot, const int8_t *key,
                        const int8_t *value) {
    unsigned quad = slot / 4, lane = slot % 4;
    int8_t *keys = kv_keys(page) + quad * 4 * head_dim + lane * 4;
    int8_t *values = kv_values(page, head_dim) + quad * 4 * head_dim + lane;
    for (unsigned i = 0; i < head_dim; i += 4)
        memcpy(keys + 4 * i, key + i, 4);
    for (unsigned i = 0; i < head_dim; i++)
        values[4 * i] = value[i];
}

void kv_cache_update(const struct kv_ring *ring, unsigned layer, const struct kv_update *update) {
    unsigned head_dim = ring->shape.head_dim;
    int8_t key[2 * ROPE_PAIRS_MAX] __attribute__((aligned(16)));
    int8_t value[2 * ROPE_PAIRS_MAX] __attribute__((aligned(16)));
    for (unsigned row = 0; row < update->rows; row++) {
        uint32_t position = update->position + row;
        unsigned slot = position % KV_PAGE_TOKENS;
        for (unsigned head = 0; head < ring->shape.kv_heads; head++) {
            size_t at = row * update->stride + (size_t)head * head_dim;
            uint8_t *page = kv_ring_page(ring, layer, head, position / KV_PAGE_TOKENS);
            const int16_t *rope = update->rope + (size_t)row * head_dim;
            kv_key_scales(page, head_dim)[slot] = rotate_and_quantize(update->keys + at, rope, head_dim, key);
            kv_value_scales(page, head_dim)[slot] =
                rotate_and_quantize(update->values + at, NULL, head_dim, value);
            store_token(page, head_dim, slot, key, value);
        }
    }
}
