// SPDX-License-Identifier: Apache-2.0
#include "kernels/kv_cache.h"

#include <arm_neon.h>

#include "kernels/rope.h"
#include "schema/image.h"

// Slots that one core fills: their scales are a cache line, and so are the dims of their key quads.
#define SHARED_SLOTS 16

// Keys: 4 dims of a token lie side by side, 16 bytes from the next 4.
static void store_key(int8_t *to, const int8_t *key, unsigned head_dim) {
    for (unsigned i = 0; i < head_dim; i += 16, to += 64) {
        int32x4_t v = vreinterpretq_s32_s8(vld1q_s8(key + i));
        vst1q_lane_s32((int32_t *)to, v, 0);
        vst1q_lane_s32((int32_t *)(to + 16), v, 1);
        vst1q_lane_s32((int32_t *)(to + 32), v, 2);
        vst1q_lane_s32((int32_t *)(to + 48), v, 3);
    }
}

// Values: every dim of a token lies 4 bytes from the next.
static void store_value(int8_t *to, const int8_t *value, unsigned head_dim) {
    for (unsigned i = 0; i < head_dim; i += 16, to += 64) {
        int8x16_t v = vld1q_s8(value + i);
        vst1q_lane_s8(to, v, 0);
        vst1q_lane_s8(to + 4, v, 1);
        vst1q_lane_s8(to + 8, v, 2);
        vst1q_lane_s8(to + 12, v, 3);
        vst1q_lane_s8(to + 16, v, 4);
        vst1q_lane_s8(to + 20, v, 5);
        vst1q_lane_s8(to + 24, v, 6);
        vst1q_lane_s8(to + 28, v, 7);
        vst1q_lane_s8(to + 32, v, 8);
        vst1q_lane_s8(to + 36, v, 9);
        vst1q_lane_s8(to + 40, v, 10);
        vst1q_lane_s8(to + 44, v, 11);
        vst1q_lane_s8(to + 48, v, 12);
        vst1q_lane_s8(to + 52, v, 13);
        vst1q_lane_s8(to + 56, v, 14);
        vst1q_lane_s8(to + 60, v, 15);
    }
}

// One token of one head.
static void update_slot(const struct kv_ring *ring, uint8_t *page, const struct kv_update *update,
                        unsigned row, unsigned head) {
    unsigned head_dim = ring->shape.head_dim;
    int8_t key[2 * ROPE_PAIRS_MAX] __attribute__((aligned(16)));
    int8_t value[2 * ROPE_PAIRS_MAX] __attribute__((aligned(16)));
    unsigned slot = (update->position + row) % KV_PAGE_TOKENS, lane = slot % 4;
    size_t quad = (size_t)(slot / 4) * 4 * head_dim; // bytes before its key quad, in keys and in values
    size_t at = row * update->stride + (size_t)head * head_dim;
    const int16_t *rope = update->rope + (size_t)row * head_dim;
    kv_key_scales(page, head_dim)[slot] = rotate_and_quantize(update->keys + at, rope, head_dim, key);
    kv_value_scales(page, head_dim)[slot] = rotate_and_quantize(update->values + at, NULL, head_dim, value);
    store_key(kv_keys(page) + quad + lane * 4, key, head_dim);
    store_value(kv_values(page, head_dim) + quad + lane, value, head_dim);
}

unsigned kv_cache_update(const struct kv_ring *ring, unsigned layer, const struct kv_update *update,
                         struct share share) {
    unsigned unit = 0, filled = 0;
    for (unsigned row = 0, end; row < update->rows; row = end) {
        uint32_t position = update->position + row;
        end = row + SHARED_SLOTS - position % SHARED_SLOTS;
        end = end < update->rows ? end : update->rows;
        for (unsigned head = 0; head < ring->shape.kv_heads; head++) {
            if (!is_dealt(share, unit++))
                continue;
            uint8_t *page = kv_ring_page(ring, share.part, layer, head, position / KV_PAGE_TOKENS);
            for (unsigned at = row; at < end; at++)
                update_slot(ring, page, update, at, head);
            filled += end - row;
        }
    }
    return filled;
}
